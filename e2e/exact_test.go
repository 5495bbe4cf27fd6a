package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/internal/history"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// storages are the ways in which an exact window is kept.
var storages = []string{"compact", "zset"}

// Two gateways of two workers each, one key, 1005 requests at once: exactly
// 1000 pass, and each was told another number of requests that remain.
func TestExactly1000Of1005(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage, func(t *testing.T) {
			redis := stacktest.Redis(t, stack.RedisOptions{})
			upstream := stacktest.Upstream(t)
			gws := gateways(t, 2, stacktest.Gateway{
				Plugin: policy(t, nil, with(byKey("1000/hour"), "storage", storage)),
				Redis:  redis.Addr, Upstream: upstream.Addr,
			})
			answers := times(1005, 100, func(i int) answer { return get(gws[i%2].URL()+"/", "one") })
			mustBeAnswered(t, answers, hang, 200, 429)
			if got := statuses(answers); got[200] != 1000 || got[429] != 5 {
				t.Errorf("answers by status: %v", got)
			}
			if got := upstream.Total(); got != 1000 {
				t.Errorf("%d requests reached the upstream", got)
			}
			var remaining []int64
			for _, a := range answers {
				if a.status == 200 {
					remaining = append(remaining, a.int(t, "x-ratelimit-remaining"))
				}
			}
			slices.Sort(remaining)
			for i, r := range remaining {
				if r != int64(i) {
					t.Fatalf("the admitted were told that %v… remain, not 0 to 999 each once", remaining[:i+1])
				}
			}
			get(gws[0].URL()+"/", "another").must(t, 200)
		})
	}
}

// Three gateways under load on one key: by Redis's own clock, no window of a
// second holds more than the limit, and the load was enough to fill one.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage, func(t *testing.T) {
			const limit = 100
			redis := stacktest.Redis(t, stack.RedisOptions{})
			gws := gateways(t, 3, stacktest.Gateway{
				Plugin: policy(t, nil, with(byKey(fmt.Sprintf("%d/s", limit)), "storage", storage)),
				Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
			})
			answers := during(after(4*time.Second), 24, time.Millisecond, func(i int) answer {
				return get(gws[i%3].URL()+"/", "hot")
			})
			mustBeAnswered(t, answers, hang, 200, 429)
			checkWindow(t, answers, time.Second, limit)
		})
	}
}

// checkWindow fails the test when a window of the admitted holds more than
// limit, or when none is full: then the load was too low to show anything.
func checkWindow(t *testing.T, answers []answer, window time.Duration, limit int64) {
	t.Helper()
	admitted := admissions(t, answers)
	for _, w := range history.Violations(admitted, window.Microseconds(), limit) {
		t.Errorf("%d were admitted from %d to %d us, within a window of %v; the limit is %d", w.Units, w.From, w.To, window, limit)
	}
	if w := history.Worst(admitted, window.Microseconds()); w[""].Units < limit {
		t.Errorf("the fullest window holds %d of %d: of %d requests %d were admitted", w[""].Units, limit, len(answers), len(admitted))
	}
}

// admissions are the answers that Redis admitted, at its own time.
func admissions(t *testing.T, answers []answer) []history.Admission {
	t.Helper()
	var list []history.Admission
	for _, a := range answers {
		if a.status != 200 {
			continue
		}
		if mode := a.header.Get("x-sluice-mode"); mode != "redis" {
			t.Fatalf("admitted in mode %q, not by Redis", mode)
		}
		list = append(list, history.Admission{At: a.int(t, "x-sluice-at"), Cost: 1})
	}
	return list
}
