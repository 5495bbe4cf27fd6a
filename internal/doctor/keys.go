package doctor

import (
	"context"
	"fmt"
	"strconv"

	"sluice/internal/inspect"
)

// keyChecks look at what is stored.
var keyChecks = []check{
	{"keys", keys},
	{"gateways-alive", alive},
	{"overrides", overrides},
}

// faults are the kinds of faults of keys, how bad each is, what it means and
// what to do.
var faults = []struct {
	kind     string
	severity Severity
	check    string
	means    string
	remedy   string
}{
	{inspect.CrossSlot, Fail, "cross-slot", "have no {hash tag}: on a cluster the keys of one decision are on several nodes, and scripts fail with CROSSSLOT",
		"find the program that writes them; sluice's own keys are PREFIX:{limit|key}:format"},
	{inspect.WrongType, Fail, "non-atomic-writer", "have another type than their names say: some other program writes under this prefix, outside of the script",
		"give that program another prefix (or sluice, by redis.prefix), then delete these keys: their limits fail until then"},
	{inspect.WrongFormat, Fail, "non-atomic-writer", "hold values that no script of sluice left: some other program changes counters in several steps (pipelines, INCR), and counts get lost",
		"give that program another prefix (or sluice, by redis.prefix), then delete these keys: their limits fail until then"},
	{inspect.Foreign, Warn, "foreign-keys", "aren't sluice's: some other program uses this prefix",
		"give that program another prefix, or sluice by redis.prefix"},
	{inspect.NoTTL, Fail, "no-ttl", "never expire, so memory grows without end: something took their expiry away (PERSIST, SET, a restore without TTL)",
		"delete them, or PEXPIRE each by its window; then find what wrote them"},
	{inspect.LongTTL, Warn, "long-ttl", "live for longer than their limits can need",
		"delete them, or PEXPIRE each by its window; then find what wrote them"},
	{inspect.Big, Warn, "big-keys", "are big: each call on them holds Redis up, and so does their end",
		"use storage: compact instead of zset, or a bucket; `sluice check` estimates sizes beforehand"},
	{inspect.Ahead, Fail, "clock-drift", "count from the future: a gateway with clock: gateway runs ahead, and its limits admit less, then more than they say",
		"synchronise the gateways' clocks by NTP, or use clock: redis"},
}

// keys walks over all keys of the prefix.
func keys(ctx context.Context, r *room) error {
	o := inspect.Options{Prefix: r.Prefix, Top: 1, Pacer: r.Pacer, SkewMS: r.clock.skewMS}
	if len(r.Policy.Limits) > 0 {
		o.Policy = r.Policy
	}
	report, err := inspect.New(o).All(ctx, r.Redis)
	if err != nil {
		return err
	}
	for _, f := range faults {
		n := report.FaultCounts[f.kind]
		if n == 0 {
			continue
		}
		example := ""
		for _, x := range report.Faults {
			if x.Kind == f.kind {
				example = ", such as " + strconv.Quote(x.Key) + ", which " + x.Text
				break
			}
		}
		r.name = f.check
		r.say(f.severity, r.Prefix+":*", fmt.Sprintf("%d keys %s%s", n, f.means, example), f.remedy)
		r.name = "keys"
	}
	for _, c := range report.Unseen {
		r.say(Warn, r.Prefix+":*", "this user may not run "+c+", so not all of the keys' faults can be seen", "run doctor as a user who may")
	}
	if len(report.FaultCounts) == 0 {
		r.say(OK, r.Prefix+":*", fmt.Sprintf("%d keys, all as sluice leaves them", report.Keys), "")
	}
	return nil
}

// deadMS is after how long without a heartbeat a gateway no longer counts.
const deadMS = 7000

// alive counts the gateways that live by their heartbeats.
func alive(ctx context.Context, r *room) error {
	now, err := r.Redis.Time(ctx).Result()
	if err != nil {
		return err
	}
	from := strconv.FormatInt(now.UnixMilli()-deadMS, 10)
	n, err := r.Redis.ZCount(ctx, r.Prefix+":{gateways}:beat1", from, "+inf").Result()
	if err != nil {
		return err
	}
	want := r.Policy.Gateways
	switch {
	case want > 0 && n > 0 && n != want:
		r.warn(fmt.Sprintf("%d gateways live, and the configuration says gateways: %d, by which each one's share without Redis is sized", n, want), "correct the number, or use gateways: auto")
	case want == 0 && len(r.Gateways) > 0 && n < int64(len(r.Gateways)):
		r.warn(fmt.Sprintf("%d gateways beat here, of the %d given by --envoy", n, len(r.Gateways)), "a gateway beats from its first request on; one that had some uses another Redis, database or prefix")
	default:
		r.ok(fmt.Sprintf("%d gateways live, by their heartbeats", n))
	}
	return nil
}
