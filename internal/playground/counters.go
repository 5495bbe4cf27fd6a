package playground

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/look"
	"sluice/internal/stored"
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
// decides, made unable to write.
type counters struct {
	rdb    *redis.Client
	reader *look.Reader
	policy *config.Policy
	cursor uint64
	known  map[string]bool // keys seen and not yet gone
}

func newCounters(rdb *redis.Client) *counters {
	return &counters{rdb: rdb, reader: look.New(rdb)}
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
	byName := map[[2]string]int{} // places in states, by counter and suffix
	var rates []*config.Rate
	var limits []*config.Limit
	p.EachRate(func(l *config.Limit, r *config.Rate) {
		byName[[2]string{r.Counter(), l.Algorithm.Suffix}] = len(states)
		states = append(states, CounterState{Limit: l.Name, Name: r.Name, Text: r.Text, Quota: quota(l, r), Top: []Counter{}})
		rates, limits = append(rates, r), append(limits, l)
	})
	var asks []look.Counter
	var names []stored.Name
	var at []int
	for key := range c.known {
		n, ok := stored.ParseName(key)
		i, ours := byName[[2]string{n.Counter, n.Suffix}]
		if !ok || !ours || n.Prefix != p.Redis.Prefix {
			continue
		}
		a := limits[i].Algorithm
		params := &rates[i].Params
		if _, shard := config.CutShard(n.Values); shard >= 0 && shard < len(rates[i].Shards) {
			params = &rates[i].Shards[shard]
		}
		asks = append(asks, look.Look(key, a, a.Args(nil, params, nowUS())))
		names, at = append(names, n), append(at, i)
	}
	if len(asks) > maxKeys {
		// Whichever come first: maps have no order, so each has its turn.
		asks = asks[:maxKeys]
		for i := range states {
			states[i].More = true
		}
	}
	found, err := c.reader.Each(ctx, asks)
	if err != nil {
		return nil, err
	}
	for i, answer := range found {
		if answer.Err != nil {
			continue // something else than a counter is there
		}
		d := answer.Counters[0]
		if d.Current <= 0 && d.Remaining > 0 {
			delete(c.known, asks[i].Key) // nothing counts there any more
			continue
		}
		s := &states[at[i]]
		s.Keys++
		s.Top = append(s.Top, Counter{Key: shownKey(names[i]), Current: d.Current, Remaining: d.Remaining, ResetMS: d.ResetMS})
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

func shownKey(n stored.Name) string {
	if len(n.Values) > maxShown {
		return n.Values[:maxShown] + "…"
	}
	return n.Values
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
