package operate

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/override"
)

const (
	// scanCount is how many keys one SCAN looks at.
	scanCount = 500
	// unlinkCount is how many keys are deleted in one round trip.
	unlinkCount = 200
)

// Reset deletes the counters of a limit, or of one of its callers, penalties and
// pools included. It returns how many keys that were, and how many it looked at
// to find them: 0 where their names were known. With dry it only counts.
//
// Names are known for one caller of a limit of the Policy without a hash tag;
// else all keys are walked by SCAN, which takes no more than about half of
// Redis's time.
func (o *Operator) Reset(ctx context.Context, t override.Target, dry bool) (deleted, looked int64, err error) {
	if names := o.names(t); names != nil {
		deleted, err = o.unlink(ctx, o.Redis, names, dry)
		return deleted, 0, err
	}
	var mu sync.Mutex
	node := func(ctx context.Context, c redis.Cmdable) error {
		d, l, err := o.walk(ctx, c, t, dry)
		mu.Lock()
		defer mu.Unlock()
		deleted += d
		looked += l
		return err
	}
	if cluster, ok := o.Redis.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return node(ctx, c) })
		return deleted, looked, err
	}
	err = node(ctx, o.Redis)
	return deleted, looked, err
}

// names lists the keys that a caller's counters can have, nil when they aren't
// known.
func (o *Operator) names(t override.Target) []string {
	if o.Policy == nil {
		return nil
	}
	l, window := o.Policy.RunTime(0).Named(t.Name)
	if l == nil || l.HashTag != nil || !t.Keyed && len(l.Key.Parts()) > 0 {
		return nil
	}
	var counters []string
	if window != nil {
		counters = []string{t.Name}
	} else {
		l.EachCounter(func(name string) { counters = append(counters, name) })
	}
	var out []string
	for _, c := range counters {
		for _, suffix := range []string{l.Algorithm.Suffix, limit.Penalty.Suffix, limit.Pool.Suffix} {
			marks := l.ShardMarks()
			if suffix == limit.Pool.Suffix {
				marks = []string{""}
			}
			for _, mark := range marks {
				out = append(out, o.Prefix+":{"+c+"|"+t.Values+mark+"}:"+suffix)
			}
		}
	}
	return out
}

// walk finds the counters by SCAN.
func (o *Operator) walk(ctx context.Context, c redis.Cmdable, t override.Target, dry bool) (deleted, looked int64, err error) {
	m := o.matcher(t)
	var cursor uint64
	for {
		start := time.Now()
		var keys []string
		keys, cursor, err = c.Scan(ctx, cursor, m.pattern, scanCount).Result()
		if err != nil {
			return deleted, looked, err
		}
		looked += scanCount
		var hit []string
		for _, k := range keys {
			if m.matches(k) {
				hit = append(hit, k)
			}
		}
		n, err := o.unlink(ctx, c, hit, dry)
		deleted += n
		if err != nil || cursor == 0 {
			return deleted, looked, err
		}
		select {
		case <-ctx.Done():
			return deleted, looked, ctx.Err()
		case <-time.After(time.Since(start)): // the other half is for gateways
		}
	}
}

// unlink deletes keys, and returns how many there were.
func (o *Operator) unlink(ctx context.Context, c redis.Cmdable, keys []string, dry bool) (n int64, err error) {
	for len(keys) > 0 {
		some := keys[:min(len(keys), unlinkCount)]
		keys = keys[len(some):]
		// One command a key: in a cluster they lie in different slots.
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, k := range some {
				if dry {
					p.Exists(ctx, k)
				} else {
					p.Unlink(ctx, k)
				}
			}
			return nil
		})
		for _, cmd := range cmds {
			if i, ok := cmd.(*redis.IntCmd); ok && i.Err() == nil {
				n += i.Val()
			}
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// matcher picks the keys of a target.
type matcher struct {
	pattern string // for SCAN; coarser than matches
	matches func(key string) bool
}

// windowName is what follows a limit's name in the name of a counter of another
// window.
var windowName = regexp.MustCompile(`^-[0-9]+(ms|s|min|h|d|month|year)$`)

func (o *Operator) matcher(t override.Target) matcher {
	values, end := "*", ""
	if t.Keyed {
		values, end = glob(t.Values), ":*" // behind the values, a brace or not
	}
	m := matcher{pattern: glob(o.Prefix) + ":{*" + glob(t.Name) + "*|" + values + "*" + end}
	counters := map[string]bool{t.Name: true}
	others := map[string]bool{}
	if o.Policy != nil {
		for _, l := range o.Policy.Limits {
			l.EachCounter(func(name string) {
				if l.Name == t.Name {
					counters[name] = true
				} else {
					others[name] = true
				}
			})
		}
	}
	m.matches = func(k string) bool {
		counter, vals, ok := o.split(k)
		vals, _ = config.CutShard(vals)
		if !ok || t.Keyed && vals != t.Values {
			return false
		}
		rest, isLimit := strings.CutPrefix(counter, t.Name)
		return counters[counter] || isLimit && windowName.MatchString(rest) && !others[counter]
	}
	return m
}

// split reads a counter's name: prefix:{counter|values}:suffix, or with a hash
// tag prefix:{tag}:counter|values:suffix.
func (o *Operator) split(k string) (counter, values string, ok bool) {
	rest, ok := strings.CutPrefix(k, o.Prefix+":{")
	if !ok {
		return "", "", false
	}
	tag, rest, ok := strings.Cut(rest, "}:")
	if !ok {
		return "", "", false
	}
	if counter, values, ok = strings.Cut(tag, "|"); ok {
		return counter, values, true
	}
	name, _, ok := strings.Cut(rest, ":")
	if !ok {
		return "", "", false
	}
	return strings.Cut(name, "|")
}

// glob is text that stands for itself in a pattern.
func glob(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(`*?[]^-\`, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
