package engine_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/redisproto"
)

// headers is a request made of headers alone.
type headers map[string]string

func (h headers) Header(name string) (string, bool)    { v, ok := h[name]; return v, ok }
func (h headers) Attribute(path string) ([]byte, bool) { return nil, false }

func get(path string, more ...string) headers {
	h := headers{":method": "GET", ":path": path, ":authority": "example.com"}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

func build(t testing.TB, text string) *engine.Engine {
	t.Helper()
	p, errs := config.Parse([]byte(text))
	if len(errs) > 0 {
		t.Fatalf("configuration: %v", errs)
	}
	return engine.New(p)
}

// conn is a plain connection to a real Redis: the engine's bytes go out as they
// are, and replies come back through the project's own decoder.
type conn struct {
	t   testing.TB
	c   net.Conn
	dec *redisproto.Decoder
	seq int
}

func dial(t testing.TB, r *stack.Redis) *conn {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{t: t, c: c, dec: redisproto.NewDecoder(redisproto.Limits{})}
}

func (c *conn) do(cmd []byte) redisproto.Value {
	c.t.Helper()
	if err := c.c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.c.Write(cmd); err != nil {
		c.t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for {
		v, ok, err := c.dec.Next()
		if err != nil {
			c.t.Fatal(err)
		}
		if ok {
			return v
		}
		n, err := c.c.Read(buf)
		if err != nil {
			c.t.Fatal(err)
		}
		c.dec.Feed(buf[:n])
	}
}

// decide runs one request to its verdict, at a given time in microseconds or,
// at 0, by Redis's clock.
func (c *conn) decide(e *engine.Engine, r source.Request, clock int64) *engine.Decision {
	c.t.Helper()
	d := new(engine.Decision)
	var v source.View
	v.Reset(r, &e.Policy().Source)
	step := d.Start(e, &v)
	for step == engine.Send {
		c.seq++
		cmd := d.AppendCommand(nil, []byte("t-"+strconv.Itoa(c.seq)), clock)
		step = d.Reply(c.do(cmd))
	}
	if step != engine.Decide {
		c.t.Fatalf("the decision wants step %d", step)
	}
	return d
}

const threeLevels = `{"limits":[
	{"name":"per-ip","key":"header:x-ip","rate":"3/s"},
	{"name":"per-user","match":{"path":"/api/*"},"key":"header:x-user","rate":"10/min"},
	{"name":"all","rate":"4/min"}]}`

func TestAllLimitsInOneCallAllOrNothing(t *testing.T) {
	r := stacktest.Redis(t, stack.RedisOptions{})
	c := dial(t, r)
	e := build(t, threeLevels)
	at := int64(1_700_000_000_000_000)
	req := get("/api/a", "x-ip", "1.2.3.4", "x-user", "u1")
	for i := range 3 {
		d := c.decide(e, req, at+int64(i))
		if d.Verdict.Outcome != engine.Admitted {
			t.Fatalf("request %d: %v", i, d.Verdict)
		}
		if got := d.Plan.Charges[1].Result.Current; got != int64(i+1) {
			t.Fatalf("request %d: per-user counts %d", i, got)
		}
	}
	d := c.decide(e, req, at+3)
	if d.Verdict.Outcome != engine.Rejected || d.Plan.Charges[d.Verdict.Closest].Limit.Name != "per-ip" {
		t.Fatalf("the fourth: %+v", d.Verdict)
	}
	if d.Verdict.RetryAfterMS <= 0 || d.Verdict.RetryAfterMS > 1001 {
		t.Errorf("retry after %d ms", d.Verdict.RetryAfterMS)
	}
	if got := d.Plan.Charges[1].Result.Current; got != 3 {
		t.Errorf("a rejected request was charged: per-user counts %d", got)
	}
	// Another address has room of its own, and then the shared limit is full.
	if d := c.decide(e, get("/", "x-ip", "5.6.7.8"), at+4); d.Verdict.Outcome != engine.Admitted || len(d.Plan.Charges) != 2 {
		t.Fatalf("another address: %+v, %d limits", d.Verdict, len(d.Plan.Charges))
	}
	d = c.decide(e, get("/", "x-ip", "5.6.7.8"), at+5)
	if d.Verdict.Outcome != engine.Rejected || d.Plan.Charges[d.Verdict.Closest].Limit.Name != "all" {
		t.Fatalf("the shared limit: %+v", d.Verdict)
	}
	client := r.Client()
	defer client.Close()
	calls := client.Info(context.Background(), "commandstats").Val()
	if !strings.Contains(calls, "cmdstat_evalsha:calls=6,") || !strings.Contains(calls, "cmdstat_eval:calls=1,") {
		t.Errorf("six requests weren't six calls and one load:\n%s", calls)
	}
}

func TestServerClockAdmitsExactlyN(t *testing.T) {
	r := stacktest.Redis(t, stack.RedisOptions{})
	c := dial(t, r)
	for _, storage := range []string{"compact", "zset"} {
		e := build(t, `{"limits":[{"name":"`+storage+`","rate":"1000/min","storage":"`+storage+`"}]}`)
		admitted := 0
		for range 1005 {
			d := c.decide(e, get("/"), 0)
			if d.Verdict.Outcome == engine.Admitted {
				admitted++
			}
			if skew := d.Verdict.AtUS - time.Now().UnixMicro(); skew > 1e6 || skew < -10e6 {
				t.Fatalf("time of the decision is off by %d us", skew)
			}
		}
		if admitted != 1000 {
			t.Errorf("%s: %d of 1005 admitted, want 1000", storage, admitted)
		}
	}
}

func TestScriptFlushCostsNoDecision(t *testing.T) {
	r := stacktest.Redis(t, stack.RedisOptions{})
	c := dial(t, r)
	client := r.Client()
	defer client.Close()
	e := build(t, `{"limits":[{"name":"a","rate":"5/min"}]}`)
	var got []engine.Outcome
	loads := 0
	for range 7 {
		if err := client.ScriptFlush(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		d := c.decide(e, get("/"), 0)
		got = append(got, d.Verdict.Outcome)
		loads += d.Loads
	}
	for i, o := range got {
		if want := i >= 5; (o == engine.Rejected) != want {
			t.Errorf("request %d: %v", i, o)
		}
	}
	if loads != 7 {
		t.Errorf("%d loads, want 7", loads)
	}
}

func TestNoLimitNoCall(t *testing.T) {
	e := build(t, `{"limits":[{"name":"a","match":{"path":"/api/*"},"rate":"5/min"}]}`)
	var d engine.Decision
	var v source.View
	v.Reset(get("/other"), &e.Policy().Source)
	if step := d.Start(e, &v); step != engine.Decide || d.Verdict.Outcome != engine.Admitted || len(d.Plan.Charges) != 0 {
		t.Errorf("step %d, verdict %+v, %d charges", step, d.Verdict, len(d.Plan.Charges))
	}
}

// start begins a request of one limit, up to where Redis is asked.
func start(t *testing.T, onError string) *engine.Decision {
	t.Helper()
	e := build(t, `{"limits":[{"name":"a","rate":"5/min","on_error":"`+onError+`"}]}`)
	d := new(engine.Decision)
	var v source.View
	v.Reset(get("/"), &e.Policy().Source)
	if step := d.Start(e, &v); step != engine.Send {
		t.Fatalf("step %d", step)
	}
	return d
}

func errorReply(text string) redisproto.Value {
	return redisproto.Value{Kind: redisproto.Error, Str: []byte(text)}
}

func integers(n ...int64) redisproto.Value {
	v := redisproto.Value{Kind: redisproto.Array}
	for _, x := range n {
		v.Elems = append(v.Elems, redisproto.Value{Kind: redisproto.Integer, Int: x})
	}
	return v
}

func TestFailuresFollowOnError(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply redisproto.Value
		want  engine.Failure
	}{
		{"error", errorReply("ERR sluice: bad clock"), engine.RedisError},
		{"credentials", errorReply("NOAUTH Authentication required."), engine.AuthRefused},
		{"no credentials where some are wanted", errorReply("ERR Protocol error: unauthenticated multibulk length"), engine.AuthRefused},
		{"permission", errorReply("NOPERM no"), engine.AuthRefused},
		{"a second NOSCRIPT", errorReply("NOSCRIPT again"), engine.RedisError},
		{"a string", redisproto.Value{Kind: redisproto.Bulk, Str: []byte("1")}, engine.BadReply},
		{"too short", integers(1, 1, 1), engine.BadReply},
		{"too long", integers(1, 1, 1, 1, 1, 1, 1, 1), engine.BadReply},
		{"rejected by nobody", integers(1, 0, 1, 1, 4, 0, 0), engine.BadReply},
		{"an element that is no integer", redisproto.Value{Kind: redisproto.Array, Elems: append(integers(1, 1, 1, 1, 4, 0).Elems, errorReply("x"))}, engine.BadReply},
	} {
		for onError, want := range map[string]engine.Outcome{"allow": engine.FailedOpen, "deny": engine.FailedClosed} {
			d := start(t, onError)
			if c.name == "a second NOSCRIPT" && d.Reply(errorReply("NOSCRIPT first")) != engine.Send {
				t.Fatal("the first NOSCRIPT doesn't send the script")
			}
			if step := d.Reply(c.reply); step != engine.Decide {
				t.Fatalf("%s: step %d", c.name, step)
			}
			if d.Failure != c.want || d.Verdict.Outcome != want || d.Verdict.Mode != engine.ModeNone {
				t.Errorf("%s, %s: failure %v, verdict %+v", c.name, onError, d.Failure, d.Verdict)
			}
		}
	}
}

func TestOneRetryAfterAFailoverAndNoneAfterATimeout(t *testing.T) {
	d := start(t, "deny")
	if step := d.Reply(errorReply("READONLY You can't write against a read only replica.")); step != engine.Wait {
		t.Fatalf("step %d", step)
	}
	if step := d.Reply(integers(1, 1, 1, 1, 4, 60000, 0)); step != engine.Decide || d.Verdict.Outcome != engine.Admitted || d.Failure != engine.NoFailure {
		t.Errorf("the second attempt: step %d, verdict %+v, failure %v", step, d.Verdict, d.Failure)
	}
	d = start(t, "deny")
	if step := d.Fail(engine.Lost, ""); step != engine.Wait {
		t.Fatalf("step %d", step)
	}
	if step := d.Fail(engine.Lost, ""); step != engine.Decide || d.Verdict.Outcome != engine.FailedClosed {
		t.Errorf("the second loss: step %d, verdict %+v", step, d.Verdict)
	}
	d = start(t, "deny")
	if step := d.Fail(engine.Unavailable, ""); step != engine.Wait { // as right after a connection broke
		t.Fatalf("step %d", step)
	}
	d = start(t, "deny")
	d.LastTry()
	if step := d.Fail(engine.Unavailable, ""); step != engine.Decide {
		t.Fatalf("step %d of the last try", step)
	}
	for _, f := range []engine.Failure{engine.TimedOut, engine.BreakerOpen, engine.BadReply} {
		if step := start(t, "deny").Fail(f, ""); step != engine.Decide {
			t.Errorf("%v is tried again", f)
		}
	}
}

func TestClosestIsTheOneWithTheFewestFurtherRequests(t *testing.T) {
	e := build(t, threeLevels)
	var d engine.Decision
	var v source.View
	v.Reset(get("/api/x", "x-ip", "1.1.1.1", "x-user", "u"), &e.Policy().Source)
	d.Start(e, &v)
	if d.Reply(integers(7, 1, 1, 1, 2, 900, 0, 1, 9, 1, 50000, 0, 1, 1, 3, 60000, 0)) != engine.Decide {
		t.Fatal("no decision")
	}
	if got := d.Plan.Charges[d.Verdict.Closest].Limit.Name; got != "per-user" {
		t.Errorf("closest is %s", got)
	}
	v.Reset(get("/api/x", "x-ip", "1.1.1.1", "x-user", "u"), &e.Policy().Source)
	d.Start(e, &v)
	d.Reply(integers(7, 0, 0, 3, 0, 900, 900, 0, 10, 0, 50000, 50000, 1, 1, 3, 60000, 0))
	if got := d.Plan.Charges[d.Verdict.Closest].Limit.Name; got != "per-user" || d.Verdict.RetryAfterMS != 50000 {
		t.Errorf("rejected by %s, retry after %d", got, d.Verdict.RetryAfterMS)
	}
	v.Reset(get("/api/x", "x-ip", "1.1.1.1", "x-user", "u"), &e.Policy().Source)
	d.Start(e, &v)
	d.Reply(integers(7, 0, 0, 3, 0, 900, limit.Never, 0, 10, 0, 50000, 50000, 1, 1, 3, 60000, 0))
	if got := d.Plan.Charges[d.Verdict.Closest].Limit.Name; got != "per-ip" || d.Verdict.RetryAfterMS != limit.Never {
		t.Errorf("rejected by %s, retry after %d", got, d.Verdict.RetryAfterMS)
	}
}

func BenchmarkTenLimits(b *testing.B) {
	text := `{"limits":[`
	for i := range 10 {
		if i > 0 {
			text += ","
		}
		text += `{"name":"l` + strconv.Itoa(i) + `","match":{"method":"GET","path":"/api/v` + strconv.Itoa(i%5) + `/*"},"key":["header:x-user","path"],"rate":"100/s"}`
	}
	e := build(b, text+`]}`)
	req := get("/api/v3/orders", "x-user", "u-10086")
	var d engine.Decision
	var v source.View
	var cmd []byte
	id := []byte("abcdefghij-1")
	b.ReportAllocs()
	for b.Loop() {
		v.Reset(req, &e.Policy().Source)
		if d.Start(e, &v) != engine.Send || len(d.Plan.Charges) != 2 {
			b.Fatal("not the two limits that match")
		}
		cmd = d.AppendCommand(cmd[:0], id, 0)
	}
}
