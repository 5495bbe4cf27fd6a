package config

import (
	"sluice/internal/jsontext"
	"sluice/internal/key"
	"sluice/internal/source"
)

// naming is what the names of a limit's counters in Redis are made of:
//
//	prefix:{counter|values}:suffix
//	prefix:{counter|values|%s0}:suffix      of a key that is divided (hot.shards)
//	prefix:{hash tag}:counter|values:suffix
//
// The braces make a Redis Cluster put a counter, or all counters with one hash
// tag, into one slot. A tag never holds a bar, so the two can't be confused.
type naming struct {
	prefix, suffix string
	limit          string
	window         int64 // of the limit's only rate, milliseconds; 0 where it has several
	tagged         bool  // the limit has a hash tag
	sharded        bool  // a key has several counters
}

// naming returns how the counters of the limit are named.
func (d *draft) naming(p *parser) naming {
	n := naming{prefix: p.policy.Redis.Prefix, suffix: d.Algorithm.Suffix, limit: d.Name, tagged: d.HashTag != nil, sharded: d.sharded()}
	if base := d.rates.list; len(base) == 1 {
		n.window = base[0].Params.WindowMS
	}
	return n
}

// place names a rate's counter. The limit's only window has the limit's name, so
// that its counts outlive a change of it; any other has the window in its name.
func (n naming) place(r *Rate) {
	r.counter = n.limit
	if r.Params.WindowMS != n.window {
		r.counter += "-" + windowText(r)
	}
	if n.tagged {
		r.KeyHead = n.prefix + ":{"
		r.keyMiddle = "}:" + r.counter + "|"
		r.KeyTail = ":" + n.suffix
		return
	}
	r.KeyHead = n.prefix + ":{" + r.counter + "|"
	r.KeyTail = "}:" + n.suffix
	if n.sharded {
		r.KeyTail = shardMark + shardDigits[:1] + r.KeyTail
	}
}

// sharded reports whether the limit's keys have several counters.
func (l *Limit) sharded() bool { return l.Hot != nil && l.Hot.Shards > 1 }

// AppendKey appends the name of the counter in Redis that a request has at one
// of the limit's rates. values is where the key's own values begin in it; missing
// is true when the request lacks a part of the key.
func (l *Limit) AppendKey(dst []byte, r *Rate, v *source.View) (out []byte, values int, missing bool) {
	dst = append(dst, r.KeyHead...)
	if l.HashTag != nil {
		// Requests without the tag share one, as those without a key do.
		dst, _ = l.HashTag.Append(dst, v)
		dst = append(dst, r.keyMiddle...)
	}
	values = len(dst)
	dst, missing = l.Key.Append(dst, v)
	return append(dst, r.KeyTail...), values, missing
}

// hashTag is a source as a key of one part.
//
//go:noinline
func hashTag() kind[*key.Key] {
	return worded("a source", func(p *parser, v *jsontext.Value, _ string, to **key.Key) bool {
		s, ok := boundSource(p, v)
		if ok {
			*to = key.New(key.Part{s})
		}
		return ok
	}).as(Type{Name: "source"})
}
