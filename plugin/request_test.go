package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// Each request has a call of its own.
const oneLimit = `{"limits":[{"name":"a","match":{"path":"/a"},"rate":"5/s","on_error":"deny","hot":{"batch":false}}]}`

const serverTime = 1_690_000_058_000_000 // us

func TestHeldUntilRedisAdmits(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	if x.settled() {
		t.Fatal("not held")
	}
	cmds := r.sent()
	if len(cmds) != 1 || cmds[0][0] != "EVALSHA" || cmds[0][2] != "1" || cmds[0][3] != "rl:{a|}:log1" {
		t.Fatalf("sent %q", cmds)
	}
	r.host.Enter(hosttest.RootID)
	r.host.Advance(1500)
	r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
	if !x.passed() {
		t.Fatal("not resumed")
	}
	x.respond()
	want := map[string]string{
		"ratelimit-policy": `"a";q=5;w=1`, "ratelimit": `"a";r=4;t=2`,
		"x-ratelimit-limit": "5", "x-ratelimit-remaining": "4", "x-ratelimit-reset": "1690000060",
	}
	for name, value := range want {
		if got := x.req.Header(host.ResponseHeaders, name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	state := map[string]string{"sluice.decision": "admitted", "sluice.limit": "a", "sluice.mode": "redis", "sluice.redis_us": "1500"}
	for name, value := range state {
		if got := string(x.req.FilterState[name]); got != value {
			t.Errorf("filter state %s: %q, want %q", name, got, value)
		}
	}
	m := &r.host.Metrics
	if n := m.Value("limit=.=a;.;outcome=.=admitted;.;sluice_decisions_total"); n != 1 {
		t.Errorf("admitted counts %d", n)
	}
	if n := m.Value("limit=.=a;.;outcome=.=rejected;.;sluice_decisions_total"); n != 0 {
		t.Errorf("rejected counts %d: zeros must show", n)
	}
	if d := cmp.Diff([]uint64{1500}, m.Records("sluice_redis_us")); d != "" {
		t.Error(d)
	}
}

func TestRejectedAnswer(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	r.reply(decision(serverTime, 0, 0, 5, 0, 1200, 1200))
	a := x.req.Answer
	if x.passed() || a == nil {
		t.Fatal("not answered")
	}
	want := &hosttest.Answer{
		Code: 429, Details: "sluice_a", GRPCStatus: -1,
		Body: []byte(`{"error":{"code":"RATE_LIMITED","message":"Rate limit a exceeded. Retry in 2 s.","retry_after_seconds":2}}` + "\n"),
		Headers: [][2]string{
			{"retry-after", "2"}, {"ratelimit-policy", `"a";q=5;w=1`}, {"ratelimit", `"a";r=0;t=2`},
			{"x-ratelimit-limit", "5"}, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1690000060"},
			{"x-envoy-ratelimited", "true"}, {"content-type", "application/json"},
		},
	}
	if d := cmp.Diff(want, a); d != "" {
		t.Error(d)
	}
	// The proxy runs its own answer through the filter again.
	x.respond(a.Headers...)
	n := 0
	for _, h := range x.req.Maps[host.ResponseHeaders] {
		if h[0] == "ratelimit" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("ratelimit appears %d times", n)
	}
}

func TestRejectedForGoodHasNoRetryAfter(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	r.reply(decision(serverTime, 0, 0, 5, 0, 1200, -1))
	if x.req.Answer == nil || x.req.Answer.Header("retry-after") != "" || strings.Contains(string(x.req.Answer.Body), "retry_after") {
		t.Errorf("%+v", x.req.Answer)
	}
}

func TestGRPCIsAnsweredItsOwnWay(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a", "content-type", "application/grpc+proto")...)
	r.reply(decision(serverTime, 0, 0, 5, 0, 1200, 1200))
	a := x.req.Answer
	if a == nil || a.GRPCStatus != 8 || a.Header("grpc-retry-pushback-ms") != "1200" || string(a.Body) != "Rate limit a exceeded. Retry in 2 s." || a.Header("content-type") != "" {
		t.Errorf("%+v", a)
	}
	r.host.Advance(2_000_000)
	x = r.request(get("/a", "content-type", "application/grpc")...)
	r.host.Streams.Last().Close(14)
	r.tick(60)
	r.tick(60)
	if a := x.req.Answer; a == nil || a.Code != 503 || a.GRPCStatus != 14 || a.Details != "sluice_error" {
		t.Errorf("unavailable: %+v", a)
	}
}

func TestNoMatchNoCall(t *testing.T) {
	r := newRig(t, oneLimit)
	calls := r.host.CallsSince(func() {
		x := r.request(get("/b")...)
		if !x.passed() {
			t.Error("held")
		}
		x.respond()
		if len(x.req.Maps[host.ResponseHeaders]) != 1 {
			t.Error("headers on a request that no limit matched")
		}
	})
	if d := cmp.Diff(map[string]int{"HeaderPairs": 1}, calls); d != "" {
		t.Errorf("host calls: %s", d)
	}
}

func TestUpstreamsScarcerHeadersStay(t *testing.T) {
	r := newRig(t, oneLimit)
	for _, c := range []struct{ theirs, want string }{{"3", "3"}, {"5", "4"}, {"junk", "4"}} {
		x := r.request(get("/a")...)
		r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
		x.respond([2]string{"x-ratelimit-remaining", c.theirs}, [2]string{"ratelimit", `"up";r=1;t=1`})
		if got := x.req.Header(host.ResponseHeaders, "x-ratelimit-remaining"); got != c.want {
			t.Errorf("upstream says %s: %s, want %s", c.theirs, got, c.want)
		}
		if n := strings.Count(strings.Join(values(x.req, "ratelimit"), ","), "r="); n != 2 {
			t.Errorf("ratelimit has %d members, want both", n)
		}
	}
}

func values(r *hosttest.Request, name string) (out []string) {
	for _, h := range r.Maps[host.ResponseHeaders] {
		if h[0] == name {
			out = append(out, h[1])
		}
	}
	return out
}

func TestMissingScriptIsSentWithTheSameDecision(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	first := r.sent()[0]
	r.reply([]byte("-NOSCRIPT No matching script.\r\n"))
	if x.settled() {
		t.Fatal("settled without a decision")
	}
	cmds := r.sent()
	if len(cmds) != 1 || cmds[0][0] != "EVAL" || !strings.Contains(cmds[0][1], "redis.call") {
		t.Fatalf("sent %.80q", cmds)
	}
	cmds[0][0], cmds[0][1] = first[0], first[1]
	if d := cmp.Diff(first, cmds[0]); d != "" {
		t.Errorf("not the same decision: %s", d)
	}
	r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
	if !x.passed() {
		t.Error("not resumed")
	}
	if n := r.metric("sluice_script_loads_total"); n != 1 {
		t.Errorf("script loads: %d", n)
	}
}

func TestTimeoutFollowsOnError(t *testing.T) {
	for onError, open := range map[string]bool{"allow": true, "deny": false} {
		r := newRig(t, `{"redis":{"timeout":"20ms"},"limits":[{"name":"a","rate":"5/s","on_error":"`+onError+`"}]}`)
		x := r.request(get("/a")...)
		if r.host.TickMS != fastTickMS {
			t.Fatalf("tick of %d ms", r.host.TickMS)
		}
		for range 4 {
			r.tick(4)
		}
		if x.settled() {
			t.Fatal("settled before its timeout")
		}
		r.tick(4)
		if !x.settled() || x.passed() != open {
			t.Fatalf("%s: passed %v, answer %+v", onError, x.passed(), x.req.Answer)
		}
		if n := r.metric("kind=.=timeout;.;sluice_redis_errors_total"); n != 1 {
			t.Errorf("timeouts: %d", n)
		}
		if !open {
			a := x.req.Answer
			if a.Code != 503 || a.Header("retry-after") != "1" || !strings.Contains(string(a.Body), "LIMITER_UNAVAILABLE") {
				t.Errorf("%+v", a)
			}
		}
		// The late reply is dropped, and the next request gets its own.
		y := r.request(get("/a")...)
		r.reply(append(decision(serverTime, 0, 0, 5, 0, 900, 900), decision(serverTime, 1, 1, 1, 4, 1001, 0)...))
		if !y.passed() {
			t.Error("the late reply was taken for the next request's")
		}
	}
}

func TestLostConnectionIsTriedAgainOnce(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	r.sent()
	first := r.host.Streams.Last()
	first.Close(13)
	if x.settled() {
		t.Fatal("not tried again")
	}
	if !first.Cancelled {
		t.Error("the closed stream's token was not given back")
	}
	r.tick(48)
	if len(r.host.Streams.Opened) != 1 {
		t.Fatal("tried again before redis.retry.after")
	}
	r.tick(4)
	if cmds := r.sent(); len(cmds) != 1 || r.host.Streams.Last() == first {
		t.Fatalf("second attempt sent %q", cmds)
	}
	r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
	if !x.passed() {
		t.Error("not resumed")
	}

	y := r.request(get("/a")...)
	r.host.Streams.Last().Close(13)
	r.tick(52)
	r.host.Streams.Last().Close(13)
	r.tick(4)
	if y.req.Answer == nil || y.req.Answer.Code != 503 {
		t.Errorf("after the second loss: %+v", y.req.Answer)
	}
}

func TestClientThatLeftIsForgotten(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	y := r.request(get("/a")...)
	r.host.Forget(x.req.ID)
	r.host.Enter(hosttest.RootID)
	r.reply(append(decision(serverTime, 1, 1, 1, 4, 1001, 0), decision(serverTime, 1, 1, 2, 3, 1001, 0)...))
	if x.req.Resumed[host.Request] != 0 || x.req.Answer != nil {
		t.Error("a request that is gone was touched")
	}
	if !y.passed() || string(y.req.FilterState["sluice.decision"]) != "admitted" {
		t.Error("the one after it suffered")
	}
	z := r.request(get("/a")...)
	r.host.Forget(z.req.ID)
	r.tick(24)
	if _, ok := z.req.FilterState["sluice.decision"]; ok {
		t.Error("a timed out request that is gone was touched")
	}
}

func TestMalformedReplyResetsTheLink(t *testing.T) {
	for _, bad := range []string{"!what\r\n", "*1\r\n$-5\r\n", "HTTP/1.1 400 Bad Request\r\n"} {
		r := newRig(t, oneLimit)
		x := r.request(get("/a")...)
		y := r.request(get("/a")...)
		st := r.host.Streams.Last()
		r.reply([]byte(bad))
		r.tick(4)
		if x.req.Answer == nil || y.req.Answer == nil || x.req.Answer.Code != 503 {
			t.Fatalf("%q: pending requests not settled", bad)
		}
		if !st.Cancelled {
			t.Errorf("%q: the link was not reset", bad)
		}
		r.tick(2000)
		z := r.request(get("/a")...)
		r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
		if !z.passed() {
			t.Errorf("%q: no recovery", bad)
		}
	}
}

func TestReplyOfAWrongShapeFollowsOnError(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a")...)
	r.reply([]byte("+OK\r\n"))
	if x.req.Answer == nil || x.req.Answer.Code != 503 {
		t.Fatalf("%+v", x.req.Answer)
	}
	if n := r.metric("kind=.=bad_reply;.;sluice_redis_errors_total"); n != 1 {
		t.Errorf("bad replies: %d", n)
	}
}

func TestOneLogLineForAFaultThatHitsEachRequest(t *testing.T) {
	r := newRig(t, oneLimit)
	before := len(r.host.Logs)
	for range 100 {
		if x := r.request(get("/a")...); !x.settled() {
			r.reply([]byte("-NOAUTH Authentication required.\r\n"))
		}
	}
	lines := r.host.Logs[before:]
	if len(lines) != 2 || !strings.Contains(lines[0].Message, "NOAUTH") || !strings.Contains(lines[1].Message, "several times in a row") {
		t.Errorf("logged %v", lines)
	}
}

func TestRejectedKeyIsAnsweredFromMemory(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","key":"header:x-u","rate":"5/s","cost":"header:x-cost"},{"name":"b","rate":"9/s","shadow":true}]}`)
	x := r.request(get("/", "x-u", "1", "x-cost", "2")...)
	r.host.Advance(300)
	r.reply(decision(serverTime, 0, 0, 5, 0, 700, 700, 1, 0, 9, 0, 0))
	if x.req.Answer == nil {
		t.Fatal("not rejected")
	}
	r.sent()
	r.host.Advance(199_700) // 200 ms after the call went out
	for _, c := range []struct {
		user, cost string
		asks       bool
	}{{"1", "2", false}, {"1", "1", true}, {"1", "3", true}, {"2", "2", true}} {
		x := r.request(get("/", "x-u", c.user, "x-cost", c.cost)...)
		if asks := len(r.sent()) > 0; asks != c.asks {
			t.Errorf("user %s, cost %s: asks Redis: %v", c.user, c.cost, asks)
		}
		if c.asks {
			r.reply(decision(serverTime, 1, 1, 1, 4, 1000, 0, 1, 1, 9, 0, 0))
			continue
		}
		a := x.req.Answer
		if a == nil || a.Code != 429 || a.Header("retry-after") != "1" || a.Header("ratelimit") != `"a";r=0;t=1` ||
			a.Header("x-ratelimit-reset") != "1690000059" || string(x.req.FilterState["sluice.mode"]) != "memory" {
			t.Errorf("%+v, %v", a, x.req.FilterState)
		}
	}
	m := &r.host.Metrics
	if n := m.Value("mode=.=memory;.;sluice_mode_total"); n != 1 {
		t.Errorf("decided from memory: %d", n)
	}
	if n := m.Value("limit=.=a;.;outcome=.=rejected;.;sluice_decisions_total"); n != 2 {
		t.Errorf("rejected: %d", n)
	}
	r.host.Advance(500_000) // 700 ms after
	r.request(get("/", "x-u", "1", "x-cost", "2")...)
	if len(r.sent()) != 1 {
		t.Error("Redis isn't asked again when its time is over")
	}
}

func TestNothingIsRememberedThatMayChange(t *testing.T) {
	for _, limit := range []string{
		`"settle":{"refund_on":{"status":500}}`, `"count_rejected":true`, `"penalty":"10s"`,
	} {
		r := newRig(t, `{"limits":[{"name":"a","rate":"5/s",`+limit+`}]}`)
		for range 2 {
			r.request(get("/")...)
			if len(r.sent()) != 1 {
				t.Errorf("%s: Redis isn't asked", limit)
			}
			n := []int64{serverTime, 0, 0, 5, 0, 900, 900}
			if strings.Contains(limit, "penalty") {
				n = append(n, 0, 1, 0, 10_000, 10_000)
			}
			r.reply(decision(n...))
		}
	}
}

func TestBreakerAnswersAtOnceAndRecovers(t *testing.T) {
	r := newRig(t, oneLimit)
	m := &r.host.Metrics
	for range 5 {
		r.request(get("/a")...)
		r.tick(24)
	}
	if n := m.Value("sluice_breaker_open"); n != 1 {
		t.Fatalf("breaker open: %d", n)
	}
	r.reply([]byte{}) // nothing comes
	r.sent()
	for range 50 {
		x := r.request(get("/a")...)
		if a := x.req.Answer; a == nil || a.Code != 503 {
			t.Fatal("a request waits while the breaker is open")
		}
	}
	if cmds := r.sent(); len(cmds) != 0 {
		t.Errorf("an open breaker sends %q", cmds)
	}
	if n := m.Value("kind=.=breaker_open;.;sluice_redis_errors_total"); n != 50 {
		t.Errorf("refused by the breaker: %d", n)
	}
	// Redis stays silent: probes go out, requests don't. The pipe is given up
	// after a second of silence, and a probe opens it anew.
	for range 40 {
		r.tick(52)
	}
	for _, cmd := range r.sent() {
		if len(cmd) != 1 || cmd[0] != "PING" {
			t.Errorf("sent %q", cmd)
		}
	}
	// Redis is back.
	for i := 0; i < 100 && m.Value("sluice_breaker_open") == 1; i++ {
		r.tick(52)
		if st := r.host.Streams.Last(); !st.Cancelled && len(st.Sent) > 0 {
			st.TakeSent()
			st.Receive([]byte("+PONG\r\n"))
		}
		x := r.request(get("/a")...)
		if st := r.host.Streams.Last(); !st.Cancelled && len(st.Sent) > 0 {
			st.TakeSent()
			st.Receive(decision(serverTime, 1, 1, 1, 4, 1001, 0))
			if !x.passed() {
				t.Error("the call on trial was answered, its request isn't let through")
			}
		}
	}
	if n := m.Value("sluice_breaker_open"); n != 0 {
		t.Fatalf("breaker open: %d", n)
	}
	x := r.request(get("/a")...)
	r.reply(admitted)
	if !x.passed() {
		t.Error("not decided after recovery")
	}
}

func TestDebugHeadersOnlyForTheSecret(t *testing.T) {
	r := newRig(t, `{"debug":{"when":{"header:x-debug":"s3cret"}},"limits":[{"name":"a","rate":"5/s"}]}`)
	for secret, want := range map[string]string{"s3cret": "1690000058000000", "guess": ""} {
		x := r.request(get("/a", "x-debug", secret)...)
		r.reply(decision(serverTime, 1, 1, 1, 4, 1001, 0))
		x.respond()
		if got := x.req.Header(host.ResponseHeaders, "x-sluice-at"); got != want {
			t.Errorf("%s: x-sluice-at %q", secret, got)
		}
		x = r.request(get("/a", "x-debug", secret)...)
		r.reply(decision(serverTime, 0, 0, 5, 0, 900, 900))
		if got := x.req.Answer.Header("x-sluice-at"); got != want {
			t.Errorf("%s, rejected: x-sluice-at %q", secret, got)
		}
		r.host.Advance(2_000_000)
	}
}

func TestBadConfigurationSaysAllThatIsWrong(t *testing.T) {
	h := hosttest.New()
	h.Config = []byte(`{"redis":{"timeuot":"5ms"},"limits":[{"name":"A","rate":"5/s"},{"name":"b","rate":"x"}]}`)
	w := NewVM(h).NewPluginContext(hosttest.RootID)
	if w.OnPluginStart(0) {
		t.Fatal("accepted")
	}
	var all strings.Builder
	for _, l := range h.Logs {
		all.WriteString(l.Message + "\n")
	}
	for _, path := range []string{"redis.timeuot", "limits[0].name", "limits[1].rate"} {
		if !strings.Contains(all.String(), path) {
			t.Errorf("no word of %s in:\n%s", path, all.String())
		}
	}
	if n := h.Metrics.Value("sluice_config_errors_total"); n != 3 {
		t.Errorf("configuration errors: %d", n)
	}
}
