package plugin

import (
	"testing"

	"sluice/internal/host"
)

// again runs a request through another context of the plugin, as a second copy
// in the same filter chain would.
func (x *exchange) again(w *worker) *exchange {
	x.rig.next++
	id := x.rig.next
	y := &exchange{rig: x.rig, req: x.host.Request(id, x.req.Maps[host.RequestHeaders]...)}
	y.req.FilterState = x.req.FilterState // of the stream, not of the context
	y.ctx = x.stream(id, w)
	y.action = y.ctx.OnHttpRequestHeaders(0, true)
	return y
}

func second(t *testing.T, r *rig, config string) *worker {
	t.Helper()
	r.host.Config = []byte(config)
	r.next++
	w := r.worker(r.next)
	if !w.OnPluginStart(0) {
		t.Fatal(r.host.Logs)
	}
	return w
}

func TestSecondCopyInOneChain(t *testing.T) {
	for _, id := range [][]string{{"x-request-id", "42"}, nil} {
		r := newRig(t, oneLimit)
		same := second(t, r, oneLimit)
		other := second(t, r, `{"limits":[{"name":"b","rate":"9/s"}]}`)
		x := r.request(get("/a", id...)...)
		r.reply(admitted)
		if !x.passed() {
			t.Fatal("not admitted")
		}
		r.sent()
		y := x.again(same)
		if !y.passed() || len(r.sent()) != 0 {
			t.Errorf("%v: a copy with the same configuration decides again", id)
		}
		z := x.again(other)
		if z.settled() {
			t.Errorf("%v: a copy with another configuration decides nothing", id)
		}
		r.reply(admitted)
		if !z.passed() {
			t.Errorf("%v: not admitted by the other", id)
		}
		if u := x.again(other); !u.passed() {
			t.Errorf("%v: a copy of the other decides again", id)
		}
	}
}

func TestForgedRequestIDIsNoWayAround(t *testing.T) {
	r := newRig(t, oneLimit)
	x := r.request(get("/a", "x-request-id", "forged")...)
	y := r.request(get("/a", "x-request-id", "forged")...)
	if x.settled() || y.settled() {
		t.Fatal("a request with another's id isn't decided")
	}
	if n := len(r.sent()); n != 2 {
		t.Errorf("%d calls for two requests", n)
	}
	r.reply(append(append([]byte(nil), admitted...), admitted...))
	x.upstream("200", "")
	y.upstream("200", "")
	if n := len(r.vm.copies.streams); n != 0 {
		t.Errorf("%d streams are still noted", n)
	}
}

// A stream that shares its id with one that two copies decided is decided by
// both copies too.
func TestForgedRequestIDAgainstTwoCopies(t *testing.T) {
	r := newRig(t, oneLimit)
	other := second(t, r, `{"limits":[{"name":"b","rate":"9/s"}]}`)
	id := []string{"x-request-id", "known"}
	victim := r.request(get("/a", id...)...)
	r.reply(admitted)
	victim.again(other)
	r.reply(admitted)

	x := r.request(get("/a", id...)...)
	if x.settled() {
		t.Fatal("the first copy decides nothing")
	}
	if !r.host.Streams.Opened[0].Receive(admitted) || !x.passed() { // each copy has a stream of its own
		t.Fatal("not admitted")
	}
	if y := x.again(other); y.settled() {
		t.Error("the second copy takes the stream for the other one")
	}
}
