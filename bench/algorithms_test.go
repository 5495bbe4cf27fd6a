package main

import (
	"testing"
	"time"

	"sluice/internal/limit"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// The schedules reach the limit, and are in order: the ways are told apart.
func TestSchedules(t *testing.T) {
	for _, s := range schedules() {
		for i := 1; i < len(s.times); i++ {
			if s.times[i] < s.times[i-1] {
				t.Fatalf("%s: request %d comes before the one before it", s.name, i)
			}
		}
		if n := idealLog(s.times); n == len(s.times) || n < 10*accuracyLimit-accuracyLimit {
			t.Errorf("%s: an exact log admits %d of %d", s.name, n, len(s.times))
		}
	}
}

func TestJudge(t *testing.T) {
	// 1500 requests in a second, all admitted, and 500 later.
	var times []limit.Micros
	for i := range limit.Micros(1500) {
		times = append(times, epoch+i*600)
	}
	for i := range limit.Micros(500) {
		times = append(times, epoch+5_000_000+i)
	}
	verdicts := make([]bool, len(times))
	for i := range verdicts {
		verdicts[i] = true
	}
	a := judge(times, verdicts)
	if a.worst != 1500 || a.over != 0.5 || a.admitted != 2000 || a.ideal < 0.33 || a.ideal > 0.34 {
		t.Errorf("%+v", a)
	}
}

// What the table says is so for reasons that don't depend on the machine.
func TestWays(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	results := map[*limit.Algorithm]wayResult{}
	for _, w := range ways {
		result, err := measureWay(t.Context(), redis, w, 50*time.Millisecond)
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		results[w.alg] = result
		for i, s := range result.speed {
			if s.calls <= 0 || s.cpu <= 0 || s.commands < 3 {
				t.Errorf("%s, %s: %+v", w.name, regimes[i].name, s)
			}
		}
		for i, c := range result.changes {
			if c.remaining != max(0, changes[i].limit-c.current) {
				t.Errorf("%s, %s: %+v", w.name, changes[i].name, c)
			}
		}
	}
	for _, exact := range []*limit.Algorithm{limit.SlidingLog, limit.SlidingLogZset} {
		for i, a := range results[exact].accuracy {
			if a.over > 0 || a.ideal < -0.001 || a.ideal > 0.001 {
				t.Errorf("%s %s, schedule %d: %+v", exact.Name, exact.Storage, i, a)
			}
		}
	}
	if a := results[limit.FixedWindow].accuracy[1]; a.worst != 2*accuracyLimit {
		t.Errorf("the edges let %d through a fixed window, not twice the limit", a.worst)
	}
	if m := results[limit.SlidingLog].memory; m[1] > 10_000 {
		t.Errorf("a full compact log takes %d bytes", m[1])
	}
}
