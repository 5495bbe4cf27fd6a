package luatest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/limit"
	"sluice/lua"
)

// undo returns what a call charged k at a time and answered as said.
func (c *caller) undo(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, now int64, id string, k counter, since int64, said limit.Decision) {
	k.op = lua.OpUndo
	keys, argv := c.args(now, id, k)
	argv = append(argv, since, said.Current)
	reply, err := c.rdb.EvalSha(ctx, c.script.SHA, keys, argv...).Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	if len(reply) != 7 || reply[1] != 1 || reply[2] != 1 {
		t.Fatalf("the undo of %s says %v", k.alg.Name, reply)
	}
}

// Two counters get the same hits; one gets others, too, which are undone, each
// after a while in which more hits came. It is then as if they had never been
// made: the counters agree from then on. Where a charge has left its window by
// itself meanwhile, the counter that had it never counts less than the other.
func TestUndoneIsAsNeverCharged(t *testing.T) {
	rdb := client(t)
	for _, alg := range limit.Algorithms() {
		c := newCaller(t, rdb, alg)
		t.Run(alg.Name+alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := limit.Params{
					Limit:    rapid.SampledFrom([]int64{3, 40, 5000}).Draw(t, "limit"),
					WindowMS: rapid.SampledFrom([]int64{50, 1000, 60_000}).Draw(t, "window"),
					Buckets:  10, HoldMS: 60_000,
				}
				if alg.PerHit {
					p.Limit = 5000 // above it the log forgets its oldest hits
				}
				if alg == limit.CalendarQuota {
					p.Calendar = &limit.Calendar{Unit: limit.Hour}
				}
				with := counter{alg: alg, key: freshKey(alg.Suffix), p: p}
				without := counter{alg: alg, key: freshKey(alg.Suffix), p: p}
				now := int64(epoch)
				step := func() {
					now += rapid.SampledFrom([]int64{0, 1, 700, 5_000, p.WindowMS * 100, p.WindowMS * 700}).Draw(t, "step")
				}
				type charge struct {
					id    string
					since int64
					said  limit.Decision
					cost  int64
				}
				var out []charge
				gone := false // a charge expired before it was undone
				for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
					step()
					cost := rapid.SampledFrom([]int64{1, 1, 2, 7}).Draw(t, "cost")
					id := fmt.Sprintf("id%04d", i)
					switch rapid.IntRange(0, 3).Draw(t, "what") {
					case 0, 1:
						for _, k := range []counter{with, without} {
							k.op, k.cost = lua.OpCharge, cost // room or not
							c.call(now, id, k)
						}
					case 2:
						k := with
						k.op, k.cost = lua.OpDecide, cost
						if v := c.call(now, id, k); v.admitted {
							out = append(out, charge{id, now, v.counters[0], cost})
						}
					case 3:
						if len(out) == 0 {
							continue
						}
						n := rapid.IntRange(0, len(out)-1).Draw(t, "which")
						x := out[n]
						out = append(out[:n], out[n+1:]...)
						gone = gone || now-x.since >= p.WindowMS*1000/2
						k := with
						k.cost = x.cost
						c.undo(t, now, x.id, k, x.since, x.said)
					}
				}
				for _, x := range out {
					gone = gone || now-x.since >= p.WindowMS*1000/2
					k := with
					k.cost = x.cost
					c.undo(t, now, x.id, k, x.since, x.said)
				}
				bucket := alg == limit.TokenBucket || alg == limit.LeakyBucket
				for range 12 {
					a, b := c.call(now, "look", with).counters[0], c.call(now, "look", without).counters[0]
					if a.Current < b.Current {
						t.Fatalf("%d are counted where some were undone, %d without these", a.Current, b.Current)
					}
					if a != b && !gone && !bucket {
						t.Fatalf("with what was undone %+v, without it %+v", a, b)
					}
					now += p.WindowMS * 1000 / 9
				}
				rdb.Del(ctx, with.key, without.key)
			})
		})
	}
}

// In a bucket that isn't nearly empty all of a charge comes back, however fast
// the bucket leaks: a request that another limit rejects costs it nothing.
func TestUndoInABusyBucketLosesNothing(t *testing.T) {
	for _, alg := range []*limit.Algorithm{limit.TokenBucket, limit.LeakyBucket} {
		c := newCaller(t, client(t), alg)
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: limit.Params{Limit: 5000, WindowMS: 1000}, cost: 1}
		full := k
		full.cost, full.op = 4000, lua.OpCharge
		c.call(epoch, "a", full)
		v := c.call(epoch+10, "b", k)
		c.undo(t, epoch+20_010, "b", k, epoch+10, v.counters[0])
		k.cost = 0
		if n := c.call(epoch+20_010, "look", k).counters[0].Current; n != 3900 { // 100 have leaked in 20 ms
			t.Errorf("%s: %d of 3900 are counted after the undo", alg.Name, n)
		}
	}
}
