package luatest

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/limit"
	"sluice/internal/limit/zone"
	"sluice/lua"
)

// epoch is where the tests' clocks start: a time with odd digits, us.
const epoch = 1_754_321_987_654_321

var keys int

// keyPrefix is what the tests' keys begin with.
var keyPrefix = "test"

func freshKey(suffix string) string {
	keys++
	return fmt.Sprintf("%s:{%d}:%s", keyPrefix, keys, suffix)
}

// held is a model whose holders have ids, seen as one request's.
type held struct {
	*limit.Holders
	id string
}

func (h held) Look(now, cost int64) limit.Decision { return h.LookAs(now, h.id, cost) }
func (h held) Take(now, cost int64) limit.Decision { return h.Hold(now, h.id, cost) }
func (h held) Give(now, n int64) limit.Decision {
	if n == 0 { // a refund of nothing is a look
		return withoutVerdict(h.LookAs(now, h.id, 0))
	}
	return h.Release(now, h.id, n)
}
func (h held) Refuse(now, cost int64) limit.Decision { return h.LookAs(now, h.id, cost) }

func withoutVerdict(d limit.Decision) limit.Decision {
	d.Admitted, d.RetryAfterMS = true, 0
	return d
}

// as is the model as the request with the id sees it.
func as(m limit.Model, id string) limit.Model {
	if h, ok := m.(*limit.Holders); ok {
		return held{h, id}
	}
	return m
}

// apply is what the script's op does, said with the model, and whether the call
// is admitted when there is no other counter.
func apply(m limit.Model, op int, now int64, id string, cost int64) (limit.Decision, bool) {
	m = as(m, id)
	d := m.Look(now, cost)
	admitted := d.Admitted || op != lua.OpDecide && op != lua.OpDecideCount
	return settle(m, op, now, cost, d, admitted), admitted
}

// settle charges what the votes, or the op, say; d is what Look said.
func settle(m limit.Model, op int, now, cost int64, d limit.Decision, admitted bool) limit.Decision {
	switch {
	case op == lua.OpRefund:
		return m.Give(now, cost)
	case op == lua.OpCharge:
		if cost > 0 {
			d = m.Take(now, cost)
		}
		return withoutVerdict(d)
	case cost > 0 && d.Admitted && admitted:
		return m.Take(now, cost)
	case cost > 0 && !d.Admitted && (op == lua.OpDecideCount || op == lua.OpShadowCount):
		return m.Refuse(now, cost)
	}
	return d
}

// clockStep draws how far the clock moves between two calls, us; seldom back.
func clockStep(t *rapid.T, windowMS int64) int64 {
	switch rapid.IntRange(0, 20).Draw(t, "kind of step") {
	case 20:
		return rapid.Int64Range(-3_002_000, -2_998_000).Draw(t, "a step back around 3 s")
	case 0:
		return -rapid.Int64Range(1, 2_990_000).Draw(t, "small step back")
	case 1:
		return -rapid.Int64Range(3_100_000, 100_000_000).Draw(t, "large step back")
	case 2, 3:
		return rapid.Int64Range(1, 2*windowMS*1000).Draw(t, "up to two windows")
	case 4, 5, 6:
		return rapid.Int64Range(1, max(windowMS*50, 2)).Draw(t, "a part of the window")
	case 7:
		return windowMS * 1000
	default:
		return rapid.Int64Range(1, max(windowMS*2, 2)).Draw(t, "a tick or two")
	}
}

func TestModelEqualsScript(t *testing.T) {
	rdb := client(t)
	for _, alg := range append(limit.Algorithms(), limit.Pool) {
		t.Run(strings.TrimSuffix(alg.Name+"/"+alg.Storage, "/"), func(t *testing.T) {
			rapid.Check(t, newCaller(t, rdb, alg).equalsModel(alg))
		})
	}
}

// equalsModel runs a random schedule against the script and the model.
func (c *caller) equalsModel(alg *limit.Algorithm) func(*rapid.T) {
	return func(t *rapid.T) {
		p := drawParams(t, alg)
		m := alg.New(p)
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: p}
		now := int64(epoch)
		used := map[int64]bool{} // a zset's hits of one us are in no order
		for i := range rapid.IntRange(1, 120).Draw(t, "calls") {
			for now += clockStep(t, k.p.WindowMS); used[now]; now++ {
			}
			used[now] = true
			if rapid.IntRange(0, 24).Draw(t, "change?") == 0 {
				k.p = changeParams(t, alg, k.p)
				m.Change(k.p)
			}
			k.op = rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}).Draw(t, "op")
			k.cost = drawCost(t, k.p.Limit)
			id := fmt.Sprintf("id%06d", i)
			if alg == limit.Concurrency {
				id = fmt.Sprintf("id%d", rapid.IntRange(0, 15).Draw(t, "id"))
			}
			want, ok := apply(m, k.op, now, id, k.cost)
			got, err := c.try(now, id, k)
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			t.Logf("call %d: op %d cost %d at %d, %+v: %+v", i, k.op, k.cost, now-epoch, k.p, got.counters[0])
			if got.counters[0] != want || got.admitted != ok || got.at != now {
				t.Fatalf("call %d: op %d cost %d at %d, %+v:\nscript %+v %v\nmodel  %+v %v", i, k.op, k.cost, now-epoch, k.p, got.counters[0], got.admitted, want, ok)
			}
		}
		c.rdb.Del(ctx, k.key)
	}
}

func drawCost(t *rapid.T, lim int64) int64 {
	return rapid.OneOf(
		rapid.Just(int64(1)), rapid.Just(int64(1)), rapid.Just(int64(0)),
		rapid.Int64Range(1, 5), rapid.Int64Range(1, lim+2),
	).Draw(t, "cost")
}

func drawParams(t *rapid.T, alg *limit.Algorithm) limit.Params {
	p := limit.Params{
		Limit:    rapid.OneOf(rapid.Int64Range(0, 6), rapid.Int64Range(1, 60), rapid.Just(int64(1_000_000_007))).Draw(t, "limit"),
		WindowMS: rapid.SampledFrom([]int64{1, 7, 250, 999, 1000, 1001, 5000, 60_000, 61_000, 3_600_000, 86_400_000}).Draw(t, "window"),
	}
	for _, option := range alg.Options {
		switch option {
		case "burst":
			p.Burst = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 8), rapid.Just(p.Limit)).Draw(t, "burst")
		case "buckets":
			p.Buckets = rapid.SampledFrom([]int64{0, 1, 2, 3, 7, 10, 60, 100}).Draw(t, "buckets")
		case "max_wait":
			p.WaitMS = rapid.SampledFrom([]int64{0, 0, 1, 100, 1500, 60_000}).Draw(t, "max_wait")
		case "max_hold":
			p.HoldMS = p.WindowMS
		case "timezone":
			p.Calendar = &limit.Calendar{
				Unit:       limit.Unit(rapid.IntRange(0, 4).Draw(t, "unit")),
				Zone:       rapid.SampledFrom(zones(t)).Draw(t, "zone"),
				DayStarts:  rapid.SampledFrom([]int64{0, 0, 4 * 3600, 150 * 60}).Draw(t, "day starts"),
				WeekStarts: rapid.Int64Range(0, 6).Draw(t, "week starts"),
			}
			p.WindowMS = 40_000_000 // how the test's clock steps
		}
	}
	if alg == limit.Pool { // which mostly ends within the schedule
		p.UntilMS = epoch/1000 + rapid.Int64Range(1, 10*p.WindowMS).Draw(t, "deadline")
	}
	if alg.Check(&p) != nil { // a bucket that big needs a rounder rate
		p.Limit = 1_000_000_000
	}
	if err := alg.Check(&p); err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return p
}

func zones(t interface{ Fatal(...any) }) (zs []*limit.Zone) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
		z, err := zone.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		zs = append(zs, z)
	}
	return zs
}

func changeParams(t *rapid.T, alg *limit.Algorithm, p limit.Params) limit.Params {
	q := drawParams(t, alg)
	if rapid.Bool().Draw(t, "the limit only") {
		p.Limit = q.Limit
		if alg.Check(&p) == nil {
			return p
		}
	}
	return q
}
