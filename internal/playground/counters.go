package playground

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/lua"
)

// Bounds on how much of Redis's time and of this program's memory looking costs,
// however many keys there are.
const (
	maxKeys  = 150 // looked at each time
	maxPages = 4   // of SCAN each time
	pageSize = 500 // keys that Redis goes through a page
	maxTop   = 5   // keys shown of a rate
	maxShown = 100 // characters of a key
)

// CounterState is one rate of a limit: its fullest counters.
type CounterState struct {
	Limit string `json:"limit"`
	Name  string `json:"name"` // of the rate
	Text  string `json:"text"` // 5/min
	Quota int64  `json:"quota"`
	// Keys is how many counters were seen; More says that there are others.
	Keys int       `json:"keys"`
	More bool      `json:"more,omitempty"`
	Top  []Counter `json:"top"`
}

// Counter is one counter as it stands.
type Counter struct {
	Key       string `json:"key"` // the values of the limit's key; "" for one that all share
	Current   int64  `json:"current"`
	Remaining int64  `json:"remaining"`
	ResetMS   int64  `json:"reset_ms"`
}

// counters finds the counters in Redis and reads them with the script that
// decides, asked to charge nothing.
type counters struct {
	rdb    *redis.Client
	script lua.Script
	run    *redis.Script
	policy *config.Policy
	cursor uint64
	known  map[string]bool // keys seen and not yet gone
}

func newCounters(rdb *redis.Client) *counters {
	var names []string
	for _, a := range limit.Algorithms() {
		names = append(names, a.Script)
	}
	c := &counters{rdb: rdb, script: lua.Compose(names...)}
	c.run = redis.NewScript(c.script.Source)
	return c
}

// look reads the counters of a policy.
func (c *counters) look(ctx context.Context, p *config.Policy) ([]CounterState, error) {
	if c.policy != p {
		c.policy, c.cursor, c.known = p, 0, map[string]bool{}
	}
	if err := c.scan(ctx, p.Redis.Prefix); err != nil {
		return nil, err
	}
	var states []CounterState
	var asks []ask
	p.EachRate(func(l *config.Limit, r *config.Rate) {
		if l.HashTag != nil {
			return // their keys don't tell which limit they belong to
		}
		states = append(states, CounterState{Limit: l.Name, Name: r.Name, Text: r.Text, Quota: quota(l, r), Top: []Counter{}})
		for key := range c.known {
			if len(key) >= len(r.KeyHead)+len(r.KeyTail) && strings.HasPrefix(key, r.KeyHead) && isCounter(key, r) {
				asks = append(asks, ask{key: key, algorithm: l.Algorithm, rate: r, state: len(states) - 1})
			}
		}
	})
	if len(asks) > maxKeys {
		// Whichever come first: maps have no order, so each has its turn.
		asks = asks[:maxKeys]
		for i := range states {
			states[i].More = true
		}
	}
	found, err := c.read(ctx, asks)
	if err != nil {
		return nil, err
	}
	for i, d := range found {
		a := asks[i]
		if d.Current <= 0 && d.Remaining > 0 {
			delete(c.known, a.key) // nothing counts there any more
			continue
		}
		s := &states[a.state]
		s.Keys++
		s.Top = append(s.Top, Counter{Key: shownKey(a.key, a.rate), Current: d.Current, Remaining: d.Remaining, ResetMS: d.ResetMS})
	}
	for i := range states {
		slices.SortFunc(states[i].Top, func(a, b Counter) int {
			if n := fuller(b, a); n != 0 {
				return n
			}
			return strings.Compare(a.Key, b.Key)
		})
		states[i].Top = states[i].Top[:min(len(states[i].Top), maxTop)]
	}
	return states, nil
}

// fuller compares the share of their room that two counters have used.
func fuller(a, b Counter) int {
	x := float64(a.Current) / float64(max(a.Current+a.Remaining, 1))
	y := float64(b.Current) / float64(max(b.Current+b.Remaining, 1))
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// isCounter reports whether a key ends as a counter of the rate, of whichever shard.
func isCounter(key string, r *config.Rate) bool {
	if r.Shards == nil {
		return strings.HasSuffix(key, r.KeyTail)
	}
	for i := range r.Shards {
		tail := []byte(r.KeyTail)
		r.SetShard(tail, i)
		if strings.HasSuffix(key, string(tail)) {
			return true
		}
	}
	return false
}

func shownKey(key string, r *config.Rate) string {
	values := key[len(r.KeyHead) : len(key)-len(r.KeyTail)]
	if len(values) > maxShown {
		values = values[:maxShown] + "…"
	}
	return values
}

func quota(l *config.Limit, r *config.Rate) int64 {
	if q := l.Algorithm.Quota; q != nil {
		units, _ := q(&r.Params)
		return units
	}
	return r.Params.Limit
}

// scan goes on where it stopped the last time.
func (c *counters) scan(ctx context.Context, prefix string) error {
	for range maxPages {
		keys, next, err := c.rdb.Scan(ctx, c.cursor, prefix+":{*", pageSize).Result()
		if err != nil {
			return err
		}
		for _, k := range keys {
			if len(c.known) < 2*maxKeys {
				c.known[k] = true
			}
		}
		c.cursor = next
		if next == 0 {
			break
		}
	}
	return nil
}

// ask is a question about one counter.
type ask struct {
	key       string
	algorithm *limit.Algorithm
	rate      *config.Rate
	state     int
}

// errReply is a reply that isn't the script's.
var errReply = errors.New("the script's reply has a wrong shape")

// read asks about all counters in one round trip.
func (c *counters) read(ctx context.Context, asks []ask) ([]limit.Decision, error) {
	if len(asks) == 0 {
		return nil, nil
	}
	for again := false; ; again = true {
		pipe := c.rdb.Pipeline()
		cmds := make([]*redis.Cmd, len(asks))
		for i := range asks {
			cmds[i] = c.run.EvalSha(ctx, pipe, []string{asks[i].key}, c.args(&asks[i])...)
		}
		_, err := pipe.Exec(ctx)
		if redis.HasErrorPrefix(err, "NOSCRIPT") && !again {
			if err := c.run.Load(ctx, c.rdb).Err(); err != nil {
				return nil, err
			}
			continue
		}
		var refused redis.Error
		if err != nil && !errors.As(err, &refused) {
			return nil, err
		}
		out := make([]limit.Decision, len(asks))
		for i, cmd := range cmds {
			reply, err := cmd.Int64Slice()
			if err != nil {
				continue // this counter can't be read; it shows as empty
			}
			if len(reply) != 7 {
				return nil, errReply
			}
			out[i] = limit.Decision{Admitted: reply[2] == 1, Current: reply[3], Remaining: reply[4], ResetMS: reply[5]}
		}
		return out, nil
	}
}

// args are the arguments of a call that looks and charges nothing: a cost of 0,
// without a vote.
func (c *counters) args(a *ask) []any {
	argv := []any{"", "playground", strconv.Itoa(c.script.Index(a.algorithm.Script)), lua.OpShadow, 0}
	for _, n := range a.algorithm.Args(nil, &a.rate.Params, nowUS()) {
		argv = append(argv, n)
	}
	return argv
}
