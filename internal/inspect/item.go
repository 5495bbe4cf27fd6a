package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/stored"
)

// item is one key as it was read.
type item struct {
	key    string
	kind   string // as TYPE says
	ttl    int64  // ms; -1: never expires
	bytes  int64  // memory, 0 where it can't be seen
	value  stored.Value
	name   stored.Name
	named  bool
	format *stored.Format // nil for another suffix

	limit  *config.Limit // nil where the configuration doesn't know the counter
	rate   *config.Rate
	params *limit.Params

	override *engine.Override // what holds at run time; nil for nothing
}

// args are what the script reads about the counter.
func (it *item) args(now time.Time) []int64 {
	if it.params != nil {
		return it.format.Algorithm.Args(nil, it.params, now.UnixMicro())
	}
	return it.format.Args(&it.value)
}

// read reads keys in one round trip. Those that are gone are left out.
func (in *Inspector) read(ctx context.Context, rdb redis.UniversalClient, keys []string) ([]*item, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	type commands struct {
		kind   *redis.StatusCmd
		ttl    *redis.DurationCmd
		bytes  *redis.IntCmd
		head   *redis.StringCmd
		scores *redis.ZSliceCmd
	}
	items := make([]*item, len(keys))
	cmds := make([]commands, len(keys))
	pipe := rdb.Pipeline()
	for i, k := range keys {
		it := &item{key: k}
		it.name, it.named = stored.ParseName(k)
		if it.named {
			it.format = stored.BySuffix(it.name.Suffix)
			it.limit, it.rate, it.params = in.rates.find(it.name)
			if it.limit != nil {
				it.override = in.rates.override(it.limit, it.name)
			}
		}
		c := commands{kind: pipe.Type(ctx, k), ttl: pipe.PTTL(ctx, k)}
		if !in.unseen["MEMORY USAGE"] {
			c.bytes = pipe.MemoryUsage(ctx, k)
		}
		if it.format != nil && it.format.Type == "zset" {
			c.scores = pipe.ZRangeWithScores(ctx, k, -3, -1)
		} else if it.format != nil {
			c.head = pipe.GetRange(ctx, k, 0, stored.HeadBytes-1)
		}
		items[i], cmds[i] = it, c
	}
	_, err := pipe.Exec(ctx)
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) {
		return nil, err // the connection, not a key
	}
	out := items[:0]
	for i, it := range items {
		c := cmds[i]
		if err := c.kind.Err(); err != nil {
			if in.denied(err, "TYPE") {
				continue
			}
			return nil, err
		}
		if it.kind = c.kind.Val(); it.kind == "none" {
			continue
		}
		if it.ttl = c.ttl.Val().Milliseconds(); c.ttl.Val() < 0 {
			it.ttl = int64(c.ttl.Val())
		}
		if it.ttl == -2 {
			continue
		}
		if c.ttl.Err() != nil {
			it.ttl = 0
			in.denied(c.ttl.Err(), "PTTL")
		}
		if c.bytes != nil {
			it.bytes = c.bytes.Val()
			in.denied(c.bytes.Err(), "MEMORY USAGE")
		}
		if c.head != nil {
			it.value.Head = []byte(c.head.Val())
		}
		if c.scores != nil {
			for _, z := range c.scores.Val() {
				name, _ := z.Member.(string)
				it.value.Last = append(it.value.Last, stored.Member{Name: name, Score: z.Score})
			}
		}
		out = append(out, it)
	}
	return out, nil
}

// Kinds of faults.
const (
	NoTTL       = "no_ttl"       // lives for ever
	LongTTL     = "long_ttl"     // lives longer than its limit can need
	Big         = "big"          // takes much memory
	WrongType   = "wrong_type"   // another type than its name says
	WrongFormat = "wrong_format" // not a value that a script left
	Foreign     = "foreign"      // a name that sluice doesn't make
	CrossSlot   = "cross_slot"   // no hash tag: limits of one decision are on several nodes
	Ahead       = "ahead"        // counts from the future: a clock runs ahead
)

// Fault is a key that isn't as sluice leaves it.
type Fault struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Text string `json:"text"`
}

// examples is how many keys of each kind of fault are listed.
const examples = 5

// bigBytes is the size from which on a key is big: a full log of the default
// storage takes an eighth.
const bigBytes = 64 << 10

// aheadMS is how far a stored time may be ahead of Redis's clock: a window's
// start or a tick's end.
const aheadMS = 1000

func (in *Inspector) fault(kind string, it *item, text string) {
	in.report.FaultCounts[kind]++
	if in.report.FaultCounts[kind] <= examples {
		in.report.Faults = append(in.report.Faults, Fault{kind, it.key, text})
	}
}

// own are the keys beside counters that sluice itself keeps under its prefix.
func own(prefix, key string) bool {
	rest, ok := strings.CutPrefix(key, prefix+":{")
	tag, _, closed := strings.Cut(rest, "}:")
	return ok && closed && ownTags[tag]
}

// ownTags are heartbeats and run-time overrides.
var ownTags = map[string]bool{"gateways": true, "sluice": true}

// judge finds an item's faults, and reports whether the script can be asked about
// it.
func (in *Inspector) judge(it *item) bool {
	if own(in.o.Prefix, it.key) {
		return false
	}
	if it.bytes >= bigBytes {
		in.fault(Big, it, fmt.Sprintf("takes %d bytes", it.bytes))
	}
	if it.ttl == -1 {
		in.fault(NoTTL, it, "never expires")
	}
	switch {
	case !strings.Contains(it.key, "{") || !strings.Contains(it.key, "}"):
		in.fault(CrossSlot, it, "has no {hash tag}, so that a cluster spreads the keys of one decision")
		return false
	case it.format == nil:
		in.fault(Foreign, it, "is no name that sluice gives a counter")
		return false
	case it.kind != it.format.Type:
		in.fault(WrongType, it, "is a "+it.kind+", and "+it.format.Algorithm.Name+" keeps a "+it.format.Type)
		return false
	case !it.format.Valid(&it.value):
		in.fault(WrongFormat, it, "holds no value of "+it.format.Algorithm.Name)
		return false
	}
	if f := it.format.MaxTTL; f != nil && it.ttl > 0 {
		if most := f(&it.value, it.params); most > 0 && it.ttl > most {
			in.fault(LongTTL, it, fmt.Sprintf("expires in %d ms, and %d ms is the most that its limit can need", it.ttl, most))
		}
	}
	if f := it.format.Newest; f != nil {
		if ahead := f(&it.value) - time.Now().UnixMilli() - in.o.SkewMS; ahead > aheadMS {
			in.fault(Ahead, it, fmt.Sprintf("counts from %d ms in the future", ahead))
		}
	}
	return true
}
