// Package inspect says what the counters in Redis hold: how full each is, who is
// rejected now, what they take, and which keys aren't as sluice leaves them. It
// reads only, and keeps to a share of Redis's time. It is for the tool only.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/look"
	"sluice/internal/scan"
	"sluice/internal/stored"
)

// Options say what to look at.
type Options struct {
	Policy *config.Policy // nil: keys are shown as far as they tell themselves
	// Engine is of the Policy, with the overrides at run time; nil for none.
	Engine *engine.Engine
	Prefix string // of the keys
	// Pattern, as SCAN knows them, picks whole keys; Limit picks those of a limit.
	// "" picks all.
	Pattern, Limit string
	Top            int // how many counters the report lists
	// SkewMS is by how much this machine's clock is behind Redis's, ms.
	SkewMS int64
	Pacer  *scan.Pacer
}

// Report is about all counters that were looked at.
type Report struct {
	Keys   int64      `json:"keys"`
	Bytes  int64      `json:"bytes"`
	Limits []LimitUse `json:"limits"`
	Top    []Usage    `json:"top"`
	Faults []Fault    `json:"faults,omitempty"`
	// FaultCounts has how many keys have each kind of fault; Faults only examples.
	FaultCounts map[string]int64 `json:"fault_counts,omitempty"`
	// Overrides are those at run time that hold, and those that gateways skip.
	Overrides []Override `json:"overrides,omitempty"`
	// Unseen says what this user may not look at.
	Unseen []string `json:"unseen,omitempty"`
	// Notes are what else a reader has to know.
	Notes []string `json:"notes,omitempty"`
}

// Override is an override at run time.
type Override struct {
	Limit    string   `json:"limit"`
	Values   []string `json:"values,omitempty"` // of the caller's key; none for all callers
	Override string   `json:"override"`
	UntilMS  int64    `json:"until_ms"` // of Redis's clock, ms since the epoch
	LeftMS   int64    `json:"left_ms"`
	Problem  string   `json:"problem,omitempty"` // why gateways skip it
}

// LimitUse is about the counters of one limit's rate.
type LimitUse struct {
	Counter  string `json:"counter"` // the limit's name, with its window where it has several
	Rate     string `json:"rate,omitempty"`
	Keys     int64  `json:"keys"`
	Rejected int64  `json:"rejected"` // keys that are full now
	Bytes    int64  `json:"bytes"`
}

// Usage is one counter.
type Usage struct {
	Key       string   `json:"key"`
	Counter   string   `json:"counter"`
	Values    []string `json:"values,omitempty"`
	Algorithm string   `json:"algorithm"`
	Rate      string   `json:"rate,omitempty"` // where the configuration says it
	Current   int64    `json:"current"`
	// Limit, Remaining and Rejected mean something only where Rate is known.
	Limit        int64 `json:"limit,omitempty"`
	Remaining    int64 `json:"remaining,omitempty"`
	Rejected     bool  `json:"rejected,omitempty"`
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`
	ResetMS      int64 `json:"reset_ms"`
	TTLMS        int64 `json:"ttl_ms"` // -1: never expires
	Bytes        int64 `json:"bytes"`
	// Override is what holds for this counter's requests at run time; "" for nothing.
	// Where it blocks, Rejected and RetryAfterMS are the block's.
	Override string `json:"override,omitempty"`
}

// Inspector looks at counters and adds to a report.
type Inspector struct {
	o       Options
	rates   *rates
	report  *Report
	limits  map[string]*LimitUse
	readers map[redis.UniversalClient]*look.Reader
	unseen  map[string]bool
}

// New makes an Inspector.
func New(o Options) *Inspector {
	if o.Prefix == "" {
		o.Prefix = "rl"
	}
	return &Inspector{
		o: o, rates: newRates(o.Policy, o.Engine), report: &Report{FaultCounts: map[string]int64{}},
		limits: map[string]*LimitUse{}, readers: map[redis.UniversalClient]*look.Reader{}, unseen: map[string]bool{},
	}
}

// All looks at all counters that the options pick.
func (in *Inspector) All(ctx context.Context, rdb redis.UniversalClient) (*Report, error) {
	pattern := in.pattern()
	err := scan.Nodes(ctx, rdb, func(n scan.Node) error {
		return scan.Keys(ctx, n, pattern, in.o.Pacer, func(keys []string) error {
			return in.look(ctx, n.Client, slices.DeleteFunc(keys, func(k string) bool { return !in.picks(k) }))
		})
	})
	return in.finish(), err
}

// pattern is what SCAN is given; picks decides.
func (in *Inspector) pattern() string {
	switch {
	case in.o.Pattern != "":
		return in.o.Pattern
	case in.o.Limit != "":
		return scan.Literal(in.o.Prefix) + ":{*" + scan.Literal(in.o.Limit) + "*"
	}
	return scan.Literal(in.o.Prefix) + ":*"
}

func (in *Inspector) picks(key string) bool {
	if in.o.Limit == "" {
		return true
	}
	n, ok := stored.ParseName(key)
	if !ok {
		return false
	}
	if l := in.rates.counters[n.Counter]; l != nil {
		return l.Name == in.o.Limit
	}
	// A limit of several windows has them in its counters' names: name-1s.
	window, found := strings.CutPrefix(n.Counter, in.o.Limit+"-")
	return n.Counter == in.o.Limit || found && window != "" && window[0] >= '0' && window[0] <= '9'
}

// KeyError is a key that can't be looked for.
type KeyError struct{ text string }

func (e *KeyError) Error() string { return e.text }

func keyError(format string, args ...any) error {
	return &KeyError{fmt.Sprintf(format, args...)}
}

// Key looks at the counters that a limit has for one key: a value for each of its
// parts, (missing) for an absent one.
func (in *Inspector) Key(ctx context.Context, rdb redis.UniversalClient, name string, values []string) (*Report, error) {
	if in.o.Policy == nil {
		return nil, keyError("which keys a limit has is in its configuration")
	}
	i := slices.IndexFunc(in.o.Policy.Limits, func(l *config.Limit) bool { return l.Name == name })
	if i < 0 {
		return nil, keyError("the configuration has no limit %s: it has %s", name, in.names())
	}
	l := in.o.Policy.Limits[i]
	if l.HashTag != nil {
		return nil, keyError("keys of limit %s begin with its hash_tag, which its key doesn't tell: use `sluice inspect %s`", name, name)
	}
	if want := len(l.Key.Parts()); len(values) != want {
		return nil, keyError("the key of limit %s has %d parts (%s), and %d values were given: give one for each", name, want, l.Key, len(values))
	}
	if err := in.look(ctx, rdb, in.rates.keys(l, values)); err != nil {
		return nil, err
	}
	return in.finish(), nil
}

func (in *Inspector) names() string {
	var names []string
	for _, l := range in.o.Policy.Limits {
		names = append(names, l.Name)
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return strings.Join(names, ", ")
}

// reader is the Reader over a client.
func (in *Inspector) reader(rdb redis.UniversalClient) *look.Reader {
	r := in.readers[rdb]
	if r == nil {
		r = look.New(rdb)
		in.readers[rdb] = r
	}
	return r
}

// look reads keys in two round trips: what they are, then what the script says
// of them.
func (in *Inspector) look(ctx context.Context, rdb redis.UniversalClient, keys []string) error {
	items, err := in.read(ctx, rdb, keys)
	if err != nil {
		return err
	}
	var ask []*item
	var counters []look.Counter
	for _, it := range items {
		in.report.Keys++
		in.report.Bytes += it.bytes
		if in.judge(it) {
			ask = append(ask, it)
			counters = append(counters, look.Look(it.key, it.format.Algorithm, it.args(time.Now())))
		}
	}
	answers, err := in.reader(rdb).Each(ctx, counters)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Err != nil {
			if in.denied(a.Err, "EVALSHA") {
				continue
			}
			if !redis.HasErrorPrefix(a.Err, "WRONGTYPE") && !strings.Contains(a.Err.Error(), "sluice: ") {
				return a.Err // Redis serves no script at all
			}
			in.fault(WrongFormat, ask[i], "the script refuses it: "+a.Err.Error())
			continue
		}
		in.add(ask[i], a)
	}
	return nil
}

// denied notes that this user may not run a command.
func (in *Inspector) denied(err error, command string) bool {
	if err == nil || !redis.HasErrorPrefix(err, "NOPERM") {
		return false
	}
	if !in.unseen[command] {
		in.unseen[command] = true
		in.report.Unseen = append(in.report.Unseen, command)
	}
	return true
}

// add adds a counter to the report.
func (in *Inspector) add(it *item, a look.Answer) {
	d := a.Counters[0]
	u := Usage{
		Key: it.key, Counter: it.name.Counter, Values: Values(it.name.Values), Algorithm: it.format.Algorithm.Name,
		Current: d.Current, ResetMS: d.ResetMS, TTLMS: it.ttl, Bytes: it.bytes,
	}
	switch {
	case it.format.Algorithm == limit.Penalty:
		u.Rate, u.Rejected, u.RetryAfterMS = "penalty", d.Current > 0, d.ResetMS
	case it.params != nil:
		u.Rate, u.Limit, u.Remaining = it.rate.Text, it.params.Limit, d.Remaining
		if q := it.format.Algorithm.Quota; q != nil {
			u.Limit, _ = q(it.params)
		}
		if u.Rejected = !d.Admitted; u.Rejected {
			u.RetryAfterMS = d.RetryAfterMS
		}
	default:
		u.ResetMS = 0
	}
	u.overridden(it, a.AtUS/1000)
	use := in.limits[u.Counter]
	if use == nil {
		use = &LimitUse{Counter: u.Counter}
		in.limits[u.Counter] = use
	}
	if use.Rate == "" || use.Rate == "penalty" {
		use.Rate = u.Rate
		if u.Override != "" { // the caller's, not the limit's
			use.Rate = in.rates.configured(u.Counter)
		}
	}
	use.Keys++
	use.Bytes += u.Bytes
	if u.Rejected {
		use.Rejected++
	}
	in.report.Top = append(in.report.Top, u)
	if len(in.report.Top) > 4*max(in.o.Top, 50) {
		in.report.Top = top(in.report.Top, in.o.Top)
	}
}

// top are the n counters that are closest to rejecting; those that do come first.
func top(all []Usage, n int) []Usage {
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(u Usage) bool {
		was := seen[u.Key]
		seen[u.Key] = true
		return was
	})
	slices.SortStableFunc(all, func(a, b Usage) int {
		switch x, y := a.fill(), b.fill(); {
		case a.Rejected != b.Rejected:
			if a.Rejected {
				return -1
			}
			return 1
		case x != y:
			if x > y {
				return -1
			}
			return 1
		case a.Current != b.Current:
			if a.Current > b.Current {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
	return all[:min(len(all), n)]
}

// fill is the used part of a counter, 0 where its limit isn't known.
func (u *Usage) fill() float64 {
	if u.Limit <= 0 {
		return 0
	}
	return float64(u.Current) / float64(u.Limit)
}

func (in *Inspector) finish() *Report {
	in.report.Top = top(in.report.Top, in.o.Top)
	for _, l := range in.limits {
		in.report.Limits = append(in.report.Limits, *l)
	}
	slices.SortFunc(in.report.Limits, func(a, b LimitUse) int { return strings.Compare(a.Counter, b.Counter) })
	return in.report
}
