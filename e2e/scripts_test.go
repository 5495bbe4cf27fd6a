package e2e

import (
	"sync"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// Redis forgets its scripts between two requests: the next is decided as if it
// had not.
func TestScriptFlushBetweenRequests(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	e := stacktest.Gateway{
		Plugin: policy(t, nil, byKey("5/hour")), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	c := redis.Client()
	defer c.Close()
	for i, want := range []int{200, 200, 200, 200, 200, 429, 429} {
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		a := get(e.URL()+"/", "k").must(t, want)
		if want == 200 {
			if got := a.int(t, "x-ratelimit-remaining"); got != int64(4-i) {
				t.Errorf("request %d was told that %d remain", i, got)
			}
		}
	}
	if got := stats(t, e).Sum("sluice_script_loads_total", nil); got < 6 { // the last rejection needed no call
		t.Errorf("sluice_script_loads_total is %v after 7 flushes", got)
	}
}

// Redis forgets its scripts again and again while requests are under way: none
// is lost, and exactly the limit passes.
func TestScriptFlushUnderLoad(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	gws := gateways(t, 2, stacktest.Gateway{
		Plugin: policy(t, nil, byKey("1500/hour")), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	})
	c := redis.Client()
	defer c.Close()
	done := make(chan struct{})
	var flushes int
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Error(err)
				return
			}
			flushes++
		}
	})
	answers := times(2000, 30, func(i int) answer { return get(gws[i%2].URL()+"/", "k") })
	close(done)
	wg.Wait()
	mustBeAnswered(t, answers, hang, 200, 429)
	if got := statuses(answers); got[200] != 1500 {
		t.Errorf("answers by status: %v", got)
	}
	loads := stats(t, gws[0]).Sum("sluice_script_loads_total", nil)
	if flushes < 10 || loads < 10 {
		t.Errorf("%d flushes and %v loads show little", flushes, loads)
	}
}
