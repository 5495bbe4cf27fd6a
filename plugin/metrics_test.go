package plugin

import (
	"testing"

	"sluice/internal/host/hosttest"
)

// A request that a limit refuses for want of its key counts there as rejected,
// and at no other limit.
func TestMissingKeyCountsAsRejected(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"all","rate":"5/s"},{"name":"a","key":"header:x-key","missing":"deny","rate":"5/s"}]}`)
	x := r.request(get("/")...)
	if x.req.Answer == nil || x.req.Answer.Code != 400 {
		t.Fatalf("answered %+v", x.req.Answer)
	}
	r.host.Enter(hosttest.RootID)
	for limit, want := range map[string]int64{"a": 1, "all": 0} {
		for _, o := range outcomes {
			n := r.metric("limit=.=" + limit + ";.;outcome=.=" + o + ";.;sluice_decisions_total")
			if o != "rejected" && n != 0 || o == "rejected" && n != want {
				t.Errorf("%s of %s counts %d", o, limit, n)
			}
		}
	}
}

// Where requests are rare the proxy knows of each at once; of those that come
// close together it is told by the next tick, which is a fast one.
func TestCountsAreSummedUpAndTold(t *testing.T) {
	const admitted = "limit=.=a;.;outcome=.=admitted;.;sluice_decisions_total"
	r := newRig(t, `{"limits":[{"name":"a","rate":"1000000/s","algorithm":"token_bucket","scope":"gateway"}]}`)
	calls := func() int { return r.host.Calls["IncrementMetric"] }
	told := func(want int64) {
		t.Helper()
		if n := r.host.Metrics.Value(admitted); n != want {
			t.Errorf("the proxy knows of %d, want %d", n, want)
		}
	}
	ask := func() {
		if r.vm.steady(); !r.request(get("/")...).passed() {
			t.Fatal("not admitted")
		}
	}
	ask()
	told(1)
	before := calls()
	for range 100 {
		ask()
	}
	told(1)
	if r.w.tickMS != fastTickMS {
		t.Errorf("the next tick comes after %d ms", r.w.tickMS)
	}
	r.tick(fastTickMS)
	told(101)
	if n := calls() - before; n != 2 {
		t.Errorf("%d calls told of 100 requests, want one for the limit and one for the mode", n)
	}
	if r.w.tickMS != slowTickMS {
		t.Errorf("idle, the next tick comes after %d ms", r.w.tickMS)
	}
	r.tick(fastTickMS)
	ask()
	told(102)
	ask()
	r.w.OnPluginDone()
	told(103)
}
