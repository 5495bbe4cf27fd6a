package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// admitted is Redis's reply that one counter has room.
var admitted = decision(serverTime, 1, 1, 1, 4, 1001, 0)

// upstream runs an answer of the upstream's, with its body and trailers, through
// the plugin, to the request's end.
func (x *exchange) upstream(status string, body string, headers ...[2]string) {
	x.answerFrom("via_upstream", status, body, headers...)
}

func (x *exchange) answerFrom(details, status, body string, headers ...[2]string) {
	x.req.Properties["response\x00code_details"] = []byte(details)
	x.req.Maps[host.ResponseHeaders] = append([][2]string{{":status", status}}, headers...)
	x.host.Enter(x.req.ID)
	x.ctx.OnHttpResponseHeaders(len(headers)+1, body == "")
	for i := 0; i < len(body); i += 10 {
		piece := body[i:min(i+10, len(body))]
		x.req.Bodies[host.ResponseBody] = []byte(piece)
		x.ctx.OnHttpResponseBody(len(piece), i+10 >= len(body))
	}
	if n := len(x.req.Maps[host.ResponseTrailers]); n > 0 {
		x.ctx.OnHttpResponseTrailers(n)
	}
	x.end()
}

// end is the end of a request as the proxy reports it.
func (x *exchange) end() {
	x.host.Enter(x.req.ID)
	x.contexts.End(x.req.ID)
	x.host.Forget(x.req.ID)
}

// ops are the op and cost of a script call's only counter.
func ops(t *testing.T, cmd []string) string {
	t.Helper()
	if len(cmd) < 9 || cmd[2] != "1" {
		t.Fatalf("not a call for one counter: %q", cmd)
	}
	return cmd[7] + " " + cmd[8] // after EVALSHA sha 1 key clock id index
}

func TestSettle(t *testing.T) {
	const (
		charge = "2 "
		refund = "3 "
	)
	for _, c := range []struct {
		name, limit, first string
		answer             func(x *exchange)
		want               string // of the second call; "" for none
	}{
		{"look first, a failure is charged", `"cost":0,"settle":{"charge_on":{"status":[401,403]}}`, "0 0",
			func(x *exchange) { x.upstream("401", "") }, charge + "1"},
		{"look first, a success is not", `"cost":0,"settle":{"charge_on":{"status":[401,403]}}`, "0 0",
			func(x *exchange) { x.upstream("200", "") }, ""},
		{"reserved, a success is refunded", `"cost":2,"settle":{"charge_on":{"status":401}}`, "0 2",
			func(x *exchange) { x.upstream("200", "") }, refund + "2"},
		{"reserved, a failure stays", `"cost":2,"settle":{"charge_on":{"status":401}}`, "0 2",
			func(x *exchange) { x.upstream("401", "") }, ""},
		{"an error is refunded", `"settle":{"refund_on":{"status":["5xx"]}}`, "0 1",
			func(x *exchange) { x.upstream("503", "") }, refund + "1"},
		{"the proxy's own 503 is no status of the upstream", `"settle":{"refund_on":{"status":["5xx"]}}`, "0 1",
			func(x *exchange) { x.answerFrom("upstream_reset_before_response_started", "503", "") }, ""},
		{"it is no answer", `"settle":{"refund_on":{"no_answer":true}}`, "0 1",
			func(x *exchange) { x.answerFrom("no_healthy_upstream", "503", "") }, refund + "1"},
		{"so is a client that left", `"settle":{"refund_on":{"no_answer":true}}`, "0 1",
			func(x *exchange) { x.end() }, refund + "1"},
		{"cost from a header", `"cost":100,"settle":{"cost":"response_header:x-cost"}`, "0 100",
			func(x *exchange) { x.upstream("200", "", [2]string{"x-cost", "30"}) }, refund + "70"},
		{"cost from a header, more", `"cost":100,"settle":{"cost":"response_header:x-cost"}`, "0 100",
			func(x *exchange) { x.upstream("200", "", [2]string{"x-cost", "130"}) }, charge + "30"},
		{"cost from a header that says nonsense", `"cost":100,"settle":{"cost":"response_header:x-cost"}`, "0 100",
			func(x *exchange) { x.upstream("200", "", [2]string{"x-cost", "-1"}) }, ""},
		{"cost from a trailer", `"cost":0,"settle":{"cost":"response_trailer:x-cost"}`, "0 0",
			func(x *exchange) {
				x.req.Maps[host.ResponseTrailers] = [][2]string{{"x-cost", "7"}}
				x.upstream("200", "body")
			}, charge + "7"},
		{"cost from JSON", `"cost":10,"settle":{"cost":"response_json:usage.total_tokens"}`, "0 10",
			func(x *exchange) {
				x.upstream("200", `{"id":"x","usage":{"total_tokens":42}}`, [2]string{"content-type", "application/json"})
			}, charge + "32"},
		{"cost from the last event", `"cost":10,"settle":{"cost":"response_json:usage.total_tokens"}`, "0 10",
			func(x *exchange) {
				x.upstream("200", "data: {\"usage\":{\"total_tokens\":1}}\n\ndata: {\"usage\":{\"total_tokens\":42}}\n\ndata: [DONE]\n\n",
					[2]string{"content-type", "text/event-stream"})
			}, charge + "32"},
		{"a compressed answer tells nothing", `"cost":10,"settle":{"cost":"response_json:n"}`, "0 10",
			func(x *exchange) { x.upstream("200", `{"n":1}`, [2]string{"content-encoding", "gzip"}) }, ""},
		{"cost is the answer's bytes", `"cost":0,"settle":{"cost":"response_bytes"}`, "0 0",
			func(x *exchange) {
				x.req.Properties["response\x00size"] = []byte{0x10, 0x27, 0, 0, 0, 0, 0, 0}
				x.upstream("200", "")
			}, charge + "10000"},
		{"cost from metadata", `"cost":0,"settle":{"cost":"metadata:llm.tokens"}`, "0 0",
			func(x *exchange) {
				x.req.Properties["metadata"] = metadata(t, "llm", map[string]any{"tokens": 77})
				x.upstream("200", "")
			}, charge + "77"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, `{"limits":[{"name":"a","rate":"500/s",`+c.limit+`}]}`)
			x := r.request(get("/")...)
			cmd := r.sent()[0]
			if got := ops(t, cmd); got != c.first {
				t.Fatalf("first call: op and cost %q, want %q", got, c.first)
			}
			r.reply(admitted)
			if !x.passed() {
				t.Fatal("not admitted")
			}
			c.answer(x)
			cmds := r.sent()
			switch {
			case c.want == "" && len(cmds) > 0:
				t.Errorf("a second call: %q", cmds)
			case c.want != "" && len(cmds) != 1:
				t.Errorf("%d calls after the answer, want 1", len(cmds))
			case c.want != "":
				if got := ops(t, cmds[0]); got != c.want {
					t.Errorf("second call: op and cost %q, want %q", got, c.want)
				}
				if cmds[0][3] != cmd[3] || cmds[0][5] != cmd[5] {
					t.Errorf("settles %q under id %q, charged %q under %q", cmds[0][3], cmds[0][5], cmd[3], cmd[5])
				}
			}
			// A second end, as after a reset, settles nothing again.
			x.contexts.End(x.req.ID)
			x.ctx.OnHttpStreamDone()
			if again := r.sent(); len(again) > 0 {
				t.Errorf("settled twice: %q", again)
			}
		})
	}
}

// metadata is dynamic metadata with one namespace, as the proxy serialises it: a
// map of Structs in field 1.
func metadata(t *testing.T, namespace string, values map[string]any) []byte {
	t.Helper()
	s, err := structpb.NewStruct(values)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), namespace)
	entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), b)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), entry)
}

func TestRejectedAndFailedRequestsSettleNothing(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","on_error":"allow","settle":{"refund_on":{"no_answer":true,"status":["2xx","4xx","5xx"]}}}]}`)
	x := r.request(get("/")...)
	r.sent()
	r.reply(decision(serverTime, 0, 0, 5, 0, 900, 900))
	x.end()
	if cmds := r.sent(); len(cmds) > 0 {
		t.Errorf("a rejected request was settled: %q", cmds)
	}
	x = r.request(get("/")...)
	r.sent()
	r.tick(24)
	if !x.passed() {
		t.Fatal("not let through")
	}
	x.upstream("200", "")
	if cmds := r.sent(); len(cmds) > 0 {
		t.Errorf("a request that Redis never admitted was settled: %q", cmds)
	}
}

func TestClientThatLeavesWhileHeldIsSettledWhenTheReplyComes(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","settle":{"refund_on":{"no_answer":true}}}]}`)
	x := r.request(get("/")...)
	r.sent()
	x.end()
	r.host.Enter(hosttest.RootID)
	r.reply(admitted)
	cmds := r.sent()
	if len(cmds) != 1 || ops(t, cmds[0]) != "3 1" {
		t.Fatalf("sent %q", cmds)
	}
	if x.req.Resumed[host.Request] != 0 {
		t.Error("a request that is gone was resumed")
	}
}

func TestSettlementSurvivesAMissingScript(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","settle":{"refund_on":{"status":500}}}]}`)
	x := r.request(get("/")...)
	r.reply(admitted)
	r.sent()
	x.upstream("500", "")
	first := r.sent()
	r.reply([]byte("-NOSCRIPT No matching script.\r\n"))
	cmds := r.sent()
	if len(cmds) != 1 || cmds[0][0] != "EVAL" || ops(t, cmds[0]) != "3 1" {
		t.Fatalf("sent %.60q after %.60q", cmds, first)
	}
	r.reply(admitted)
	if n := r.metric("sluice_settle_errors_total"); n != 0 {
		t.Errorf("settle errors: %d", n)
	}
	x = r.request(get("/")...)
	r.reply(admitted)
	x.upstream("500", "")
	r.tick(24)
	if n := r.metric("sluice_settle_errors_total"); n != 1 {
		t.Errorf("settle errors after a timeout: %d", n)
	}
}

func TestBodyBytes(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"100000/s","cost":"body_bytes"}]}`)
	x := r.request(get("/", "content-length", "1234")...)
	if got := ops(t, r.sent()[0]); got != "0 1234" {
		t.Errorf("of known length: op and cost %q", got)
	}
	r.reply(admitted)
	x.upstream("200", "")
	if cmds := r.sent(); len(cmds) != 0 {
		t.Errorf("charged again: %q", cmds)
	}
	x = r.request(get("/", "transfer-encoding", "chunked")...)
	if got := ops(t, r.sent()[0]); got != "0 0" {
		t.Errorf("of unknown length: op and cost %q", got)
	}
	r.reply(admitted)
	for range 3 {
		x.host.Enter(x.req.ID)
		x.ctx.OnHttpRequestBody(500, false)
	}
	x.upstream("200", "")
	if cmds := r.sent(); len(cmds) != 1 || ops(t, cmds[0]) != "2 1500" {
		t.Errorf("after the body: %q", cmds)
	}
}

func TestTagMarksInsteadOfRejecting(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","match":{"path":"/a"},"rate":"5/s","tag":{"header":"x-over","value":"yes"}}]}`)
	over := decision(serverTime, 1, 0, 5, 0, 900, 900)
	for _, c := range []struct {
		path  string
		reply []byte
		want  string
	}{{"/a", admitted, ""}, {"/a", over, "yes"}, {"/b", nil, ""}} {
		x := r.request(get(c.path, "x-over", "forged")...)
		if c.reply != nil {
			if got := ops(t, r.sent()[0]); got != "1 1" {
				t.Errorf("op and cost %q: a tagging limit must not vote", got)
			}
			r.reply(c.reply)
		}
		if !x.passed() {
			t.Fatalf("%s: not let through", c.path)
		}
		if got := x.req.Header(host.RequestHeaders, "x-over"); got != c.want {
			t.Errorf("%s: marked %q, want %q", c.path, got, c.want)
		}
	}
	if n := r.metric("limit=.=a;.;outcome=.=tagged;.;sluice_decisions_total"); n != 1 {
		t.Errorf("tagged: %d", n)
	}
}

func TestQueueDelaysAndThenLetsThrough(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"10/s","hot":{"batch":false}}]}`)
	// Redis's reply as a queue gives it: admitted, with the delay last.
	late := r.request(get("/")...)
	soon := r.request(get("/")...)
	r.reply(append(decision(serverTime, 1, 1, 1, 4, 100, 100), decision(serverTime, 1, 1, 1, 4, 100, 20)...))
	r.tick(16)
	if soon.settled() || late.settled() {
		t.Fatal("let through at once")
	}
	r.tick(4)
	if !soon.passed() || late.settled() {
		t.Fatal("not the sooner one after its delay")
	}
	r.tick(76)
	if late.settled() {
		t.Fatal("too early")
	}
	r.tick(4)
	if !late.passed() {
		t.Fatal("not let through after its delay")
	}
	gone := r.request(get("/")...)
	r.reply(decision(serverTime, 1, 1, 1, 4, 100, 20))
	gone.end()
	r.tick(24)
	if gone.req.Resumed[host.Request] != 0 {
		t.Error("a request that is gone was resumed")
	}
}

func TestRateFromTheRequest(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","key":"header:x-u","rate":{"from":"header:x-rate","default":"10/s","max":"1000/s"},"hot":{"batch":false}}]}`)
	numbers := func(rate string) string {
		r.request(get("/", "x-u", "1", "x-rate", rate)...)
		cmd := r.sent()[0]
		return strings.Join(cmd[9:], " ")
	}
	want := map[string]string{"50": "50 1000", "200/min": "200 60000", "9999999": "1000 1000", "junk": "10 1000", "10": "10 1000"}
	got := map[string]string{}
	for rate := range want {
		got[rate] = numbers(rate)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTemplates(t *testing.T) {
	r := newRig(t, `{"reject":{"status":420,"body":"<p>%LIMIT% is full: %MESSAGE% (%RETRY_AFTER% s, %CODE%, %STATUS%, 100%%)</p>","headers":{"X-Why":"limit"}},"limits":[{"name":"a","rate":"5/s"}]}`)
	x := r.request(get("/")...)
	r.reply(decision(serverTime, 0, 0, 5, 0, 1200, 1200))
	a := x.req.Answer
	const want = "<p>a is full: Rate limit a exceeded. Retry in 2 s. (2 s, RATE_LIMITED, 420, 100%)</p>"
	if a == nil || string(a.Body) != want || a.Code != 420 || a.Header("x-why") != "limit" || a.Header("content-type") != "text/html; charset=utf-8" {
		t.Errorf("%+v", a)
	}
}

func TestProblemDetails(t *testing.T) {
	r := newRig(t, `{"reject":{"body":"problem"},"limits":[{"name":"a","rate":"5/s"}]}`)
	x := r.request(get("/")...)
	r.reply(decision(serverTime, 0, 0, 5, 0, 1200, 1200))
	a := x.req.Answer
	const want = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"detail":"Rate limit a exceeded. Retry in 2 s.","violated-policies":["a"]}` + "\n"
	if a == nil || string(a.Body) != want || a.Header("content-type") != "application/problem+json" {
		t.Errorf("%+v", a)
	}
}

func TestOddCostCountsOne(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","cost":"header:x-cost","hot":{"batch":false}}]}`)
	for cost, want := range map[string]string{"3": "0 3", "0": "0 0", "-3": "0 1", "1.5": "0 1", "99999999999999999999": "0 1", "x": "0 1"} {
		r.request(get("/", "x-cost", cost)...)
		if got := ops(t, r.sent()[0]); got != want {
			t.Errorf("cost %s: op and cost %q, want %q", cost, got, want)
		}
	}
	for range 6 {
		r.reply(admitted)
	}
	if n := r.metric("sluice_odd_costs_total"); n != 4 {
		t.Errorf("odd costs: %d", n)
	}
}

func TestSlotIsFreedHoweverTheRequestEnds(t *testing.T) {
	const config = `{"limits":[{"name":"a","algorithm":"concurrency","max":5,"on_error":"allow"}]}`
	freed := func(t *testing.T, r *rig, first []string) {
		t.Helper()
		cmds := r.sent()
		if len(cmds) != 1 || ops(t, cmds[0]) != "3 1" || cmds[0][5] != first[5] {
			t.Errorf("sent %q after %q", cmds, first)
		}
	}
	t.Run("answered", func(t *testing.T) {
		r := newRig(t, config)
		x := r.request(get("/")...)
		first := r.sent()[0]
		r.reply(admitted)
		x.upstream("200", "body")
		freed(t, r, first)
	})
	t.Run("the client leaves while held", func(t *testing.T) {
		r := newRig(t, config)
		x := r.request(get("/")...)
		first := r.sent()[0]
		x.end()
		r.reply(admitted)
		freed(t, r, first)
	})
	t.Run("no reply in time", func(t *testing.T) {
		r := newRig(t, config)
		x := r.request(get("/")...)
		first := r.sent()[0]
		r.tick(24)
		if !x.passed() {
			t.Fatal("not let through")
		}
		x.upstream("200", "")
		freed(t, r, first)
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t, config)
		x := r.request(get("/")...)
		r.sent()
		r.reply(decision(serverTime, 0, 0, 5, 0, 900, 900))
		x.end()
		if cmds := r.sent(); len(cmds) != 0 {
			t.Errorf("sent %q", cmds)
		}
	})
}

func TestPenaltyIsAskedAboutInTheSameCall(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","key":"header:x-u","rate":"5/s","penalty":"60s"}]}`)
	x := r.request(get("/", "x-u", "1")...)
	cmd := r.sent()[0]
	if cmd[2] != "2" || cmd[3] != "rl:{a|1}:log1" || cmd[4] != "rl:{a|1}:pen1" {
		t.Fatalf("sent %q", cmd)
	}
	if got := strings.Join(cmd[7:], " "); got != "1 0 1 5 1000 2 0 0 60000 1" {
		t.Errorf("arguments %q", got)
	}
	r.reply(decision(serverTime, 0, 0, 5, 0, 900, 900, 0, 1, 0, 60000, 60000))
	a := x.req.Answer
	if a == nil || a.Header("retry-after") != "60" || a.Header("ratelimit-policy") != `"a";q=5;w=1` {
		t.Errorf("%+v", a)
	}
}

// Over HTTP/3 the proxy reports a request's end by proxy_on_done alone.
func TestEndThatIsNotLogged(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","settle":{"refund_on":{"status":500}}}]}`)
	x := r.request(get("/", "x-request-id", "1")...)
	r.reply(admitted)
	r.sent()
	x.req.Properties["response\x00code_details"] = []byte("via_upstream")
	x.req.Maps[host.ResponseHeaders] = [][2]string{{":status", "500"}}
	x.ctx.OnHttpResponseHeaders(1, true)
	r.contexts.Done(x.req.ID)
	r.contexts.Done(x.req.ID)
	if cmds := r.sent(); len(cmds) != 1 || ops(t, cmds[0]) != "3 1" {
		t.Errorf("sent %q", cmds)
	}
	if r.contexts.Streams() != 0 || len(r.vm.copies.streams) != 0 {
		t.Errorf("%d requests and %d streams are still noted", r.contexts.Streams(), len(r.vm.copies.streams))
	}
}

func TestClientThatLeavesWhileDelayedIsSettled(t *testing.T) {
	r := newRig(t, `{"gateways":1,"limits":[{"name":"a","rate":"5/s","settle":{"refund_on":{"no_answer":true}}}]}`)
	x := r.request(get("/")...)
	r.reply(decision(serverTime, 1, 1, 1, 4, 100, 40))
	r.sent()
	x.end()
	if cmds := r.sent(); len(cmds) != 1 || ops(t, cmds[0]) != "3 1" {
		t.Errorf("sent %q", cmds)
	}
	r.tick(48)
	if cmds := r.sent(); len(cmds) != 0 || x.req.Resumed[host.Request] != 0 {
		t.Errorf("after its delay: sent %q, resumed %v", cmds, x.req.Resumed)
	}
}
