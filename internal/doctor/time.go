package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
)

// clock is what was seen of a server's clock.
type clock struct {
	skewMS int64 // Redis's time less this machine's
	known  bool
}

// latency measures round trips from here, and compares them with the timeout.
func latency(ctx context.Context, r *room, c *redis.Client, _ info) error {
	var took []time.Duration
	for range r.Pings {
		start := time.Now()
		if err := c.Ping(ctx).Err(); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	timeout := time.Duration(r.Policy.Redis.TimeoutUS) * time.Microsecond
	text := fmt.Sprintf("round trip from here %s (median), %s (99 %%); timeout %s", short(p50), short(p99), timeout)
	switch {
	case p50 > timeout/2:
		r.fail(text+": calls will time out", "put Redis nearer to the gateways, or raise redis.timeout")
	case p99 > timeout/2:
		r.warn(text+": some calls will time out", "look for slow commands with SLOWLOG GET, or raise redis.timeout")
	default:
		r.ok(text)
	}
	return nil
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// Skew between this machine's clock and Redis's, ms: from where on it is worth a
// word, and from where on `clock: gateway` goes wrong.
const (
	skewWarn = 200
	skewFail = 1000
)

func clocks(ctx context.Context, r *room, c *redis.Client, _ info) error {
	skew, err := r.skew(ctx, c)
	if err != nil {
		return err
	}
	r.clock = clock{skew, true}
	text := fmt.Sprintf("Redis's clock is %d ms ahead of this machine's", skew)
	if skew < 0 {
		text = fmt.Sprintf("Redis's clock is %d ms behind this machine's", -skew)
	}
	gateway := r.Policy.Clock == config.ClockGateway
	const remedy = "synchronise both by NTP (chronyc tracking, timedatectl)"
	switch {
	case max(skew, -skew) >= skewFail && gateway:
		r.fail(text+", and clock is gateway: windows of gateways don't agree", remedy+", or use clock: redis")
	case max(skew, -skew) >= skewWarn:
		r.warn(text+": limits hold, since they go by Redis's clock, but times in logs and x-ratelimit-reset seem wrong to clients", remedy)
	default:
		r.ok(text)
	}
	return nil
}

// samples is how often a clock is asked: the quickest answer is the one to go by.
const samples = 5

// skew is Redis's time less this machine's, ms.
func (r *room) skew(ctx context.Context, c *redis.Client) (ms int64, err error) {
	quickest := time.Duration(-1)
	for range samples {
		before := r.Now()
		at, err := c.Time(ctx).Result()
		if err != nil {
			return 0, err
		}
		took := r.Now().Sub(before)
		if quickest < 0 || took < quickest {
			quickest, ms = took, at.Sub(before.Add(took/2)).Milliseconds()
		}
	}
	return ms, nil
}

// slowUS is how long a script call may take before it is one that others wait
// for.
const slowUS = 10_000

// slowCalls looks for script calls on our keys among Redis's slow commands.
func slowCalls(ctx context.Context, r *room, c *redis.Client, _ info) error {
	entries, err := c.SlowLogGet(ctx, 128).Result()
	if err != nil {
		return err
	}
	n, longest := 0, time.Duration(0)
	for _, e := range entries {
		if len(e.Args) == 0 || e.Duration.Microseconds() < slowUS {
			continue
		}
		ours := strings.HasPrefix(strings.ToUpper(e.Args[0]), "EVAL") &&
			slices.ContainsFunc(e.Args, func(a string) bool { return strings.HasPrefix(a, r.Prefix+":{") })
		if ours {
			n++
			longest = max(longest, e.Duration)
		}
	}
	if n == 0 {
		r.ok("no slow script call in SLOWLOG")
		return nil
	}
	r.warn(fmt.Sprintf("%d script calls in SLOWLOG took over %d ms, the longest %s", n, slowUS/1000, short(longest)),
		"see which keys in SLOWLOG GET; big sorted sets (storage: zset) are the usual cause, a busy machine the other")
	return nil
}
