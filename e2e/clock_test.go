package e2e

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/history"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// skewedGateways starts a gateway for each clock (stacktest.EnvoyClock). Timers
// go by a steady clock, which stays right.
func skewedGateways(t *testing.T, g stacktest.Gateway, clocks ...string) []*stack.Envoy {
	t.Helper()
	g.Workers = 2
	var out []*stack.Envoy
	for i, clock := range clocks {
		g.Name = fmt.Sprintf("envoy-%d", i)
		g.Env = stacktest.EnvoyClock(t, clock)
		out = append(out, g.Start(t))
	}
	return out
}

// atTheTime are the admissions of answers, whoever's clock decided, and fails
// the test for each whose time is not about the time at which it was answered.
func atTheTime(t *testing.T, answers []answer, off time.Duration) (list []history.Admission) {
	t.Helper()
	for _, a := range answers {
		if a.status != 200 {
			continue
		}
		at := a.int(t, "x-sluice-at")
		if d := time.Since(time.UnixMicro(at)); d < -off || d > off+time.Minute {
			t.Fatalf("decided at a time that is %v ago", d)
		}
		list = append(list, history.Admission{At: at, Cost: 1})
	}
	return list
}

// With Redis's clock gateways may be wrong as they like.
func TestGatewaysFourSecondsApartAndRedisClock(t *testing.T) {
	const limit = 60
	redis := stacktest.Redis(t, stack.RedisOptions{})
	gws := skewedGateways(t, stacktest.Gateway{
		Plugin: policy(t, nil, byKey(fmt.Sprintf("%d/s", limit))),
		Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}, "2000", "-2000")
	answers := during(after(4*time.Second), 16, time.Millisecond, func(i int) answer { return get(gws[i%2].URL()+"/", "hot") })
	mustBeAnswered(t, answers, hang, 200, 429)
	checkWindow(t, answers, time.Second, limit)
	for i, e := range gws {
		if ms := stats(t, e)["sluice_clock_skew_ms"]; ms < 1500 || ms > 2500 {
			t.Errorf("gateway %d: sluice_clock_skew_ms is %v", i, ms)
		}
	}
}

// With the gateways' clocks one that is 3 s off is degraded from its first
// request on: it counts by Redis's clock, and no window holds more.
func TestGatewayThreeSecondsOffAndItsOwnClock(t *testing.T) {
	const limit, window = 60, time.Second
	redis := stacktest.Redis(t, stack.RedisOptions{})
	for _, clock := range []string{"3000", "-3000"} {
		t.Run(clock, func(t *testing.T) {
			gws := skewedGateways(t, stacktest.Gateway{
				Plugin: policy(t, m{"clock": "gateway"}, byKey(fmt.Sprintf("%d/s", limit))),
				Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
			}, "0", clock)
			var modes [2]map[string]int
			answers := during(after(5*time.Second), 16, time.Millisecond, func(i int) answer { return get(gws[i%2].URL()+"/", "hot"+clock) })
			mustBeAnswered(t, answers, hang, 200, 429)
			list := atTheTime(t, answers, time.Second)
			// Two clocks that are compared once a second differ by some ms; the log
			// waits for the slower one, so a window can be that much shorter.
			const apart = 50 * time.Millisecond
			for _, w := range history.Violations(list, (window - apart).Microseconds(), limit) {
				t.Errorf("%d were admitted from %d to %d us", w.Units, w.From, w.To)
			}
			if w := history.Worst(list, window.Microseconds()); w[""].Units < limit {
				t.Errorf("the fullest window holds %d of %d", w[""].Units, limit)
			}
			for i, e := range gws {
				modes[i] = map[string]int{}
				for j := range 30 {
					modes[i][get(e.URL()+"/", fmt.Sprintf("%s-%d-%d", clock, i, j)).header.Get("x-sluice-mode")]++
				}
			}
			if modes[0]["redis"] != 30 || modes[1]["degraded"] != 30 {
				t.Errorf("modes %v", modes)
			}
			s := stats(t, gws[1])
			if n := s.Sum("sluice_mode_total", map[string]string{"mode": "degraded"}); n == 0 {
				t.Error("no decision counted as degraded")
			}
			if ms := s["sluice_clock_skew_ms"]; ms < 2500 || ms > 3500 {
				t.Errorf("sluice_clock_skew_ms is %v", ms)
			}
		})
	}
}

// A gateway whose clock is set while it serves is degraded from that request on,
// and no longer when the clock is right again.
func TestGatewayClockThatIsSet(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	file := t.TempDir() + "/clock"
	stacktest.SetClock(t, file, "0")
	e := skewedGateways(t, stacktest.Gateway{
		Plugin: policy(t, m{"clock": "gateway"}, byKey("1000/s")),
		Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}, file)[0]
	n := 0
	mode := func(want string) {
		t.Helper()
		eventually(t, 30*time.Second, func() error {
			n++
			a := get(e.URL()+"/", fmt.Sprint("k", n)).must(t, 200)
			atTheTime(t, []answer{a}, time.Second)
			if got := a.header.Get("x-sluice-mode"); got != want {
				return fmt.Errorf("mode %q, want %q", got, want)
			}
			return nil
		})
	}
	mode("redis")
	// Until a worker has compared the clocks it leaves the time to Redis.
	eventually(t, 30*time.Second, func() error {
		get(e.URL()+"/", "k").must(t, 200)
		if ms, ok := stats(t, e)["sluice_clock_skew_ms"]; !ok || ms > 900 {
			return fmt.Errorf("sluice_clock_skew_ms is %v", ms)
		}
		return nil
	})
	stacktest.SetClock(t, file, "5000")
	mode("degraded")
	stacktest.SetClock(t, file, "0")
	mode("redis")
}
