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
