package plugin

import (
	"fmt"
	"testing"

	"sluice/redisproto"
)

// rawSent are the commands that were sent as they are.
func (r *rig) rawSent() (out [][]string) {
	r.t.Helper()
	d := redisproto.NewDecoder(redisproto.Limits{})
	d.Feed(r.host.Streams.Last().TakeSent())
	for {
		v, ok, err := d.Next()
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return out
		}
		var cmd []string
		for _, e := range v.Elems {
			cmd = append(cmd, string(e.Str))
		}
		out = append(out, cmd)
	}
}

// busy is a rig with four calls out and n requests that wait.
func busy(t *testing.T, config string, n int) (*rig, []*exchange) {
	t.Helper()
	r := newRig(t, config)
	ask := func(user int) *exchange { return r.request(get("/", "x-u", fmt.Sprint(user))...) }
	first := ask(0)
	r.rawSent()
	r.host.Streams.Last().Receive(decision(serverTime, 1, 1, 1, 4, 1001, 0))
	if !first.passed() {
		t.Fatal("the first request isn't admitted")
	}
	for user := range 4 {
		ask(user + 1)
	}
	if n := len(r.rawSent()); n != 4 {
		t.Fatalf("%d calls for 4 requests", n)
	}
	var waiting []*exchange
	for user := range n {
		waiting = append(waiting, ask(user+5))
	}
	return r, waiting
}

const byUser = `{"redis":{"timeout":"1s"},"limits":[{"name":"a","key":"header:x-u","rate":"5/s"%s}]}`

// What Redis has no time for yet goes in one call, and each is told its own.
func TestRequestsOfManyKeysShareACall(t *testing.T) {
	r, waiting := busy(t, fmt.Sprintf(byUser, ""), 3)
	one := decision(serverTime, 1, 1, 1, 4, 1001, 0)
	r.host.Streams.Last().Receive(one)
	sent := r.rawSent()
	if len(sent) != 1 || sent[0][0] != "EVALSHA" || sent[0][2] != "3" {
		t.Fatalf("sent %q", sent)
	}
	for i, key := range []string{"rl:{a|5}:log1", "rl:{a|6}:log1", "rl:{a|7}:log1"} {
		if sent[0][3+i] != key {
			t.Errorf("key %d is %s", i, sent[0][3+i])
		}
	}
	full := decision(serverTime, 0, 0, 5, 0, 900, 900)
	for range 3 {
		r.host.Streams.Last().Receive(one)
	}
	r.host.Streams.Last().Receive([]byte("*3\r\n" + string(one) + "-WRONGTYPE another kind\r\n" + string(full)))
	if !waiting[0].passed() || !waiting[1].passed() || waiting[2].req.Answer == nil || waiting[2].req.Answer.Code != 429 {
		t.Errorf("passed %v, %v, answered %+v", waiting[0].passed(), waiting[1].passed(), waiting[2].req.Answer)
	}
	// By on_error, which is local.
	for i, want := range []string{"redis", "local", "redis"} {
		if got := string(waiting[i].req.FilterState["sluice.mode"]); got != want {
			t.Errorf("request %d was decided by %q, want %q", i, got, want)
		}
	}
}

// hot.batch: false means a call for each request.
func TestWithoutBatchingEachRequestHasACall(t *testing.T) {
	r, _ := busy(t, fmt.Sprintf(byUser, `,"hot":{"batch":false}`), 3)
	r.host.Streams.Last().Receive(decision(serverTime, 1, 1, 1, 4, 1001, 0))
	sent := r.rawSent()
	if len(sent) != 3 || sent[0][2] != "1" || sent[0][5] == "+" {
		t.Errorf("sent %q", sent)
	}
}

// A server that doesn't take keys of several slots in one call is asked again for
// each, and nobody notices.
func TestAServerThatRefusesSharedCalls(t *testing.T) {
	r, waiting := busy(t, fmt.Sprintf(byUser, ""), 3)
	one := decision(serverTime, 1, 1, 1, 4, 1001, 0)
	for range 4 {
		r.host.Streams.Last().Receive(one)
	}
	if sent := r.rawSent(); len(sent) != 1 {
		t.Fatalf("sent %q", sent)
	}
	r.host.Streams.Last().Receive([]byte("-CROSSSLOT Keys in request don't hash to the same slot\r\n"))
	sent := r.rawSent()
	if len(sent) != 3 {
		t.Fatalf("sent %q", sent)
	}
	for i, cmd := range sent {
		if cmd[2] != "1" || cmd[5] == "+" {
			t.Errorf("sent %q", cmd)
		}
		r.host.Streams.Last().Receive(one)
		if !waiting[i].passed() {
			t.Errorf("request %d isn't admitted", i)
		}
	}
	for _, x := range waiting {
		if got := x.req.FilterState["sluice.mode"]; string(got) != "redis" {
			t.Errorf("a request was decided by %q", got)
		}
	}
}
