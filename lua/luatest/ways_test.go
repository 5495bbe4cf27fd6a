package luatest

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/limit"
)

// rewritten is the caller's script with a part replaced, to see what a part of it
// does.
func (c *caller) rewritten(old, new string) *caller {
	c.t.Helper()
	if !strings.Contains(c.script.Source, old) {
		c.t.Fatalf("the script has no %q", old)
	}
	r := *c
	r.script.Source = strings.ReplaceAll(c.script.Source, old, new)
	sum := sha1.Sum([]byte(r.script.Source))
	r.script.SHA = hex.EncodeToString(sum[:])
	if err := r.rdb.ScriptLoad(ctx, r.script.Source).Err(); err != nil {
		c.t.Fatalf("the script doesn't load: %v", err)
	}
	return &r
}

const (
	shortBegins   = "local function short(now,ms,id,first,last,p,stop,V,put)\n"
	generalBegins = "local function general(now,ms,id,first,last,p,stop,V,put)\n"
	ownClock      = "local own=A[1]==''"

	noShortWay   = shortBegins + "do return end\n"
	noGeneralWay = generalBegins + "do return redis.error_reply('the general way') end\n"
)

var withShort = []*limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.CalendarQuota, limit.TokenBucket, limit.LeakyBucket}

// Each way alone equals the model: the general one where the short one would do,
// and the short one where it changes values in place, as under Redis's clock.
func TestBothWaysEqualTheModel(t *testing.T) {
	rdb := client(t)
	for _, alg := range withShort {
		c := newCaller(t, rdb, alg)
		t.Run(alg.Name+"/general", func(t *testing.T) {
			rapid.Check(t, c.rewritten(shortBegins, noShortWay).equalsModel(alg))
		})
		t.Run(alg.Name+"/in place", func(t *testing.T) {
			rapid.Check(t, c.rewritten(ownClock, "local own=true").equalsModel(alg))
		})
	}
}

// What nearly every call is goes the short way, or a script costs twice as much:
// the first hit, more of them, a new tick, expired ones, a full counter, a
// shadow, a log long enough for a ring, and several counters at once.
func TestCommonCallsGoTheShortWay(t *testing.T) {
	rdb := client(t)
	for _, alg := range withShort {
		c := newCaller(t, rdb, alg).rewritten(generalBegins, noGeneralWay)
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1}
		now := int64(epoch)
		for i := range 100 {
			now += []int64{10, 60_000, 1_500_000, 13_000_000}[i%4]
			k.cost, k.op = 1+int64(i%7/6), i%2
			if alg == limit.SlidingLog { // a cost of 2 at the limit is a walk
				k.cost = 1
			}
			if _, err := c.try(now, "r", k); err != nil {
				t.Fatalf("%s: call %d: %v", alg.Name, i, err)
			}
		}
		now += 200_000_000
		if _, err := c.try(now, "r", k); err != nil {
			t.Errorf("%s: after a pause: %v", alg.Name, err)
		}
	}

	// A ring that neither grows nor shrinks.
	c := newCaller(t, rdb, limit.SlidingLog)
	k := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: limit.Params{Limit: 1_000_000, WindowMS: 60_000}, cost: 1}
	now := int64(epoch)
	for range 2000 {
		now += 600_000
		c.call(now, "r", k)
	}
	shortOnly := c.rewritten(generalBegins, noGeneralWay)
	gaveUp := 0
	for i := range int64(2000) {
		now += 600_000 * (i % 3) / 2
		if _, err := shortOnly.try(now, "r", k); err != nil {
			gaveUp++
			c.call(now, "r", k)
		}
	}
	if gaveUp > 200 { // the expiry is renewed, each 20 calls or so
		t.Errorf("%d of 2000 calls on a ring went the general way", gaveUp)
	}

	var levels []counter
	for _, alg := range withShort {
		levels = append(levels, counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1})
	}
	c = newCaller(t, rdb, withShort...).rewritten(generalBegins, noGeneralWay)
	for i := range int64(8) {
		if v, err := c.try(epoch+i*2_000_000, "r", levels...); err != nil || v.admitted != (i < 5) {
			t.Errorf("levels, call %d: %+v, %v", i, v, err)
		}
	}
}

// Under Redis's clock expiries are renewed only when needed: a key still lives at
// least as long as what it counts.
func TestKeysOutliveWhatTheyCount(t *testing.T) {
	rdb := client(t)
	for _, alg := range withShort {
		c := newCaller(t, rdb, alg)
		k := counter{alg: alg, key: freshKey(alg.Suffix), cost: 1,
			p: limit.Params{Limit: 100, WindowMS: 200_000, Burst: 1000, Calendar: &limit.Calendar{Unit: limit.Hour}}}
		for i := range int64(400) {
			d := c.call(-1, "r", k).counters[0]
			want := d.ResetMS
			switch alg {
			case limit.SlidingLog:
				want = k.p.WindowMS
			case limit.TokenBucket, limit.LeakyBucket: // 2 s for each unit
				want = (d.Current - 1) * 2000
			}
			if ttl := rdb.PTTL(ctx, k.key).Val().Milliseconds(); ttl < want && d.Current > 0 {
				t.Fatalf("%s: call %d: expires in %d ms, counts for %d", alg.Name, i, ttl, want)
			}
		}
	}
}

// A configuration may need no counter at all: its script loads.
func TestAScriptWithoutAlgorithms(t *testing.T) {
	c := newCaller(t, client(t))
	err := c.rdb.EvalSha(ctx, c.script.SHA, []string{freshKey("none")}, epoch, "r", 1, 0, 1).Err()
	if err == nil || !strings.HasPrefix(err.Error(), "ERR sluice: ") {
		t.Errorf("a call of it: %v", err)
	}
}

// A gateway's clock that is set back makes what is counted last longer by Redis's,
// so that each charge renews the expiry.
func TestKeysOutliveAGatewaysClockSetBack(t *testing.T) {
	rdb := client(t)
	for _, alg := range withShort {
		c := newCaller(t, rdb, alg)
		k := counter{alg: alg, key: freshKey(alg.Suffix), cost: 1,
			p: limit.Params{Limit: 100, WindowMS: 3_600_000, Calendar: &limit.Calendar{Unit: limit.Hour}}}
		for i := range int64(20) {
			// Each time by less than what is answered without care.
			now := epoch - i*900_000
			d := c.call(now, "r", k).counters[0]
			if ttl := rdb.PTTL(ctx, k.key).Val().Milliseconds(); ttl < d.ResetMS {
				t.Fatalf("%s: call %d: expires in %d ms, counts for %d", alg.Name, i, ttl, d.ResetMS)
			}
		}
	}
}
