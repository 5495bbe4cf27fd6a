// Package stored says what the tool needs to know about each algorithm's values
// in Redis when it looks at them from outside: which type they have, how long
// they may live, how much memory they take, and how to ask the script about one
// whose limit isn't known. docs/storage.md describes the formats; the scripts in
// package lua own them. It is for the tool only.
package stored

import (
	"strconv"
	"strings"

	"sluice/internal/limit"
)

// HeadBytes is how much of a string value is needed here.
const HeadBytes = 60

// Value is what was read of a value.
type Value struct {
	// Head has a string's first HeadBytes.
	Head []byte
	// Last are a sorted set's members with the highest scores, at most three,
	// ascending.
	Last []Member
}

// Member is a member of a sorted set.
type Member struct {
	Name  string
	Score float64
}

// Format is how one algorithm's counters lie in Redis. A nil function has no
// answer.
type Format struct {
	Algorithm *limit.Algorithm
	Type      string // as Redis's TYPE says it
	// ArgNames names what the algorithm's script reads after the cost.
	ArgNames []string
	// Valid reports whether a value can be one of the algorithm's.
	Valid func(v *Value) bool
	// Args are arguments that make the script count a valid value whose limit
	// isn't known: they allow as much as can be.
	Args func(v *Value) []int64
	// MaxTTL is how long a key with a valid value may live from now on, ms; 0
	// where that isn't known. p is nil when the limit isn't known.
	MaxTTL func(v *Value, p *limit.Params) int64
	// Newest is the time of the youngest hit or window start in a valid value, ms
	// since the epoch; 0 for none.
	Newest func(v *Value) int64
	// Bytes is the memory that a value takes at most, bytes.
	Bytes func(p *limit.Params) int64
}

var formats = map[string]*Format{} // by suffix

// register adds a format; each format's file calls it once.
func register(f Format) { formats[f.Algorithm.Suffix] = &f }

// BySuffix finds the format of keys that end so; nil for none.
func BySuffix(suffix string) *Format { return formats[suffix] }

// Of finds an algorithm's format.
func Of(a *limit.Algorithm) *Format { return formats[a.Suffix] }

// limitAndWindow are the arguments that several algorithms share.
var limitAndWindow = []string{"limit", "window_ms"}

// skewMS is how far a clock may step back before what is stored follows it; keys
// live for so much longer.
const skewMS = 3000

// Params that allow the most that scripts take.
const (
	anyLog    = 1<<48 - 1
	anyCount  = 1<<53 - 1
	anySub    = 1 << 40
	anyMember = 1 << 52
	anyMS     = 1 << 41
)

// number reads a number that is stored highest byte first.
func number(b []byte) int64 {
	n := int64(0)
	for _, x := range b {
		n = n<<8 | int64(x)
	}
	return n
}

// KeyBytes is what a key itself takes beside its value: its name, its entry, and
// its entry among the keys that expire.
func KeyBytes(name int) int64 { return 24 + 24 + 16 + allocated(int64(name)+2) }

// allocated is the size of the block that Redis's allocator gives for n bytes:
// four sizes between two powers of two.
func allocated(n int64) int64 {
	if n <= 128 {
		return (n + 15) / 16 * 16
	}
	step := int64(32)
	for n > step*8 {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// text is the memory of a string value.
func text(n int64) int64 { return allocated(n + 4) }

// members is the memory of a sorted set of n members of about 40 bytes: packed
// up to 128 of them, then a skip list and a hash table.
func members(n int64) int64 {
	if n <= 128 {
		return allocated(n*52) + 16
	}
	return n * 134
}

// digits is how many digits n has.
func digits(n int64) int64 { return int64(len(strconv.FormatInt(n, 10))) }

// Name is a counter's key in Redis, taken apart.
type Name struct {
	Prefix string
	// Tag is the hash tag, "" where the limit and the values are the tag.
	Tag string
	// Counter is what stands for the limit: config.Rate.Counter.
	Counter string
	Values  string // escaped, joined by |
	Suffix  string
}

// ParseName takes a key apart. It is false for a key that sluice doesn't make.
func ParseName(key string) (n Name, ok bool) {
	n.Prefix, key, ok = strings.Cut(key, ":{")
	if !ok || strings.ContainsAny(n.Prefix, "{}") {
		return n, false
	}
	inner, rest, ok := strings.Cut(key, "}:")
	if !ok {
		return n, false
	}
	if !strings.Contains(inner, "|") {
		n.Tag = inner
		i := strings.LastIndexByte(rest, ':')
		if i < 0 {
			return n, false
		}
		inner, rest = rest[:i], rest[i+1:]
	}
	n.Counter, n.Values, ok = strings.Cut(inner, "|")
	n.Suffix = rest
	return n, ok && n.Counter != "" && n.Suffix != "" && !strings.ContainsAny(n.Suffix, ":{}|")
}
