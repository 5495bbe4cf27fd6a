// Package config turns a configuration's text into a Policy: validated,
// compiled and immutable. Every field is declared once, in a table, out of
// which parsing, the JSON Schema and the reference page all come.
package config

import (
	"slices"
	"sort"

	"sluice/internal/jsontext"
	"sluice/internal/key"
	"sluice/internal/match"
	"sluice/internal/source"
)

// Policy is a whole configuration, checked and compiled. It is immutable.
type Policy struct {
	Redis Redis
	// Gateways is how many gateways share the limits, 0 to find out.
	Gateways int64
	// Source is how sources read a request.
	Source source.Options
	Clock  Clock
	// RuntimeOverrides has gateways ask Redis for overrides at run time, and for its
	// clock.
	RuntimeOverrides bool
	// OnError is what happens when Redis can't answer; a limit has its own copy.
	OnError OnError
	// Headers are the families of headers that every answer gets.
	Headers Headers
	// XRateLimitResetSeconds makes x-ratelimit-reset seconds from now instead of
	// Unix seconds.
	XRateLimitResetSeconds bool
	// Except picks the requests that no limit applies to.
	Except []*match.Matcher
	// CountPreflights makes CORS preflights requests like others; else no limit
	// applies to them.
	CountPreflights bool
	// HashKeys keeps callers' values out of Redis and logs: they are replaced by
	// keyed hashes; see SetHashSecret.
	HashKeys bool
	// HashSecretEnv names the environment variable with the hashes' key.
	HashSecretEnv string
	// Debug picks the requests whose answers also get x-sluice-* headers; nil
	// picks none.
	Debug *match.Matcher
	// Reject is how a rejected request is answered.
	Reject Reject
	// Limits are in the order of the text.
	Limits []*Limit
	// Index finds the limits whose match holds, by their positions in Limits.
	Index *match.Index
	// Attributes are the attributes of the proxy that deciding a request may
	// ask for, each a host call; elements of a path are joined by NUL.
	Attributes []string

	exceptIndex *match.Index
	hasher      *key.Hasher
}

// Clock says whose time counts.
type Clock byte

// Clocks.
const (
	ClockRedis Clock = iota
	ClockGateway
)

// OnError says what happens when Redis can't answer.
type OnError byte

// Policies for a Redis that can't answer.
const (
	OnErrorLocal OnError = iota // a local share of the limit
	OnErrorAllow
	OnErrorDeny
)

func (o OnError) String() string {
	switch o {
	case OnErrorAllow:
		return "allow"
	case OnErrorDeny:
		return "deny"
	}
	return "local"
}

// Headers is a set of header families.
type Headers struct {
	RateLimit  bool // ratelimit and ratelimit-policy (IETF draft 10)
	XRateLimit bool // x-ratelimit-limit, -remaining and -reset
}

func onError() kind[OnError] { return enum[OnError]("local", "allow", "deny") }

// headerFamilies is a set of header families as a list of words.
//
//go:noinline
func headerFamilies() kind[Headers] {
	list := list(enum[uint8]("ratelimit", "x-ratelimit"), 0)
	return kind[Headers]{newKind(func(p *parser, v *jsontext.Value, to *Headers) bool {
		var families []uint8
		if !list.read(p, v, &families) {
			return false
		}
		*to = Headers{}
		for _, f := range families {
			to.RateLimit = to.RateLimit || f == 0
			to.XRateLimit = to.XRateLimit || f == 1
		}
		return true
	}).like(list.reader)}
}

// gatewayCount is "auto" or a number.
//
//go:noinline
func gatewayCount() kind[int64] {
	n := integer(1, 100_000)
	k := newKind(func(p *parser, v *jsontext.Value, to *int64) bool {
		if v.Kind == jsontext.Number {
			return n.read(p, v, to)
		}
		*to = 0
		return v.Text() == "auto" || p.fail(v, "expected auto or a number of gateways")
	})
	if described {
		k.typ = &Type{Kind: AnyOfType, AnyOf: []*Type{{Kind: TextType, Enum: []string{"auto"}}, n.typ}}
	}
	return k
}

var defaultPolicy Policy

var policyTable = newTable("configuration", "The whole configuration. Only `limits` has to be given.", &defaultPolicy, []*field{
	row("redis", &defaultPolicy.Redis, redisTable.kind(), "{}", "How Redis is reached."),
	row("gateways", &defaultPolicy.Gateways, gatewayCount(), `"auto"`, "How many gateways share the limits; sizes each one's local share while Redis is away."),
	row("client_ip", &defaultPolicy.Source.Client, clientTable.kind(), "{}", "How the client's address is found."),
	row("paths", &defaultPolicy.Source, spellings(), "{}", "Which spellings of a path are the same path, besides those that always are."),
	row("hash_keys", &defaultPolicy.HashKeys, boolean(), "false", "Callers' values stand in Redis, logs and the tool only as keyed hashes."),
	row("hash_secret_env", &defaultPolicy.HashSecretEnv, variable(), `""`, "Environment variable with the hashes' key."),
	row("except", &defaultPolicy.Except, oneOrList(conditions()), "", "Requests that no limit applies to: conditions, or a list of those of which one has to hold."),
	row("preflight", &defaultPolicy.CountPreflights, enum[bool]("skip", "limit"), `"skip"`, "Whether limits apply to CORS preflights."),
	row("clock", &defaultPolicy.Clock, enum[Clock]("redis", "gateway"), `"redis"`, "Whose time counts."),
	row("runtime_overrides", &defaultPolicy.RuntimeOverrides, boolean(), "true", "Whether a gateway asks Redis once a second for what `sluice set` said, and compares its clock with Redis's. Never where all limits are of `scope: gateway`, which need no Redis."),
	row("on_error", &defaultPolicy.OnError, onError(), `"local"`, "What happens when Redis can't answer: the gateway counts its share of the limit by itself, or all requests are let through, or all are refused."),
	row("headers", &defaultPolicy.Headers, headerFamilies(), `["ratelimit", "x-ratelimit"]`, "Families of headers on every answer; `[]` for none."),
	row("x_ratelimit_reset", &defaultPolicy.XRateLimitResetSeconds, enum[bool]("epoch", "seconds"), `"epoch"`, "What `x-ratelimit-reset` says: the time as Unix seconds, or seconds from now."),
	row("debug", &defaultPolicy.Debug, debugTable.kind(), "", "Who also gets `x-sluice-*` headers; default nobody."),
	row("reject", &defaultPolicy.Reject, rejectTable.kind(), "{}", "How a rejected request is answered."),
	// Last: limits are compiled with what the fields above say.
	must(row("limits", &defaultPolicy.Limits, limitList(), "", "The limits. Every limit that matches a request applies to it.")),
}, func(p *parser, v *jsontext.Value, given givenFields, t *Policy) {
	// Gateways whose limits are all their own may have no Redis to ask.
	t.RuntimeOverrides = t.RuntimeOverrides && slices.ContainsFunc(t.Limits, func(l *Limit) bool { return l.Scope != ScopeGateway })
	if t.HashKeys && t.HashSecretEnv == "" {
		p.failField(v, "hash_secret_env", "is required with hash_keys", "")
	}
	if !t.HashKeys && t.HashSecretEnv != "" {
		p.failField(given("hash_secret_env"), "hash_secret_env", "needs hash_keys: true", "")
	}
})

// Parse reads a configuration: JSON, at most MaxBytes. It returns a Policy, or
// everything that is wrong.
func Parse(data []byte) (*Policy, Errors) { return parse(data, false) }

func parse(data []byte, all bool) (*Policy, Errors) {
	text := string(data)
	if errs := checkJSON(text); len(errs) > 0 {
		return nil, errs
	}
	policy := new(Policy)
	p := &parser{policy: policy, all: all}
	v := jsontext.Parse(text)
	policyTable.read(p, &v, policy)
	if p.total > 0 {
		return nil, p.errs.finish(p.total)
	}
	policy.compile()
	return policy, nil
}

// compile makes what is derived from the fields.
func (p *Policy) compile() {
	matchers := make([]*match.Matcher, len(p.Limits))
	for i, l := range p.Limits {
		matchers[i] = l.Match
	}
	p.Index = match.NewIndex(matchers)
	if len(p.Except) > 0 {
		p.exceptIndex = match.NewIndex(p.Except)
	}
	if p.HashKeys {
		p.hasher = key.NewHasher(nil)
		for _, l := range p.Limits {
			l.Key = l.Key.Hashed(p.hasher)
			l.HashTag = l.HashTag.Hashed(p.hasher)
		}
	}
	p.Attributes = p.attributes()
}

// SetHashSecret gives the key of the hashes that HashKeys asks for. It is
// called once, before the first request.
func (p *Policy) SetHashSecret(secret []byte) {
	if p.hasher != nil {
		p.hasher.SetSecret(secret)
	}
}

// EachRate calls f for every rate that doesn't depend on a request: those of
// the limits and of their overrides. Rate.ID goes up from 0.
func (p *Policy) EachRate(f func(l *Limit, r *Rate)) {
	for _, l := range p.Limits {
		l.eachRate(func(r *Rate) { f(l, r) })
	}
}

// attributes collects what the policy's sources ask the proxy for.
func (p *Policy) attributes() []string {
	c := collector{of: &p.Source, seen: map[string]bool{}}
	c.matchers(p.Debug)
	c.matchers(p.Except...)
	for _, l := range p.Limits {
		c.matchers(l.Match)
		c.matchers(l.Except...)
		c.source(l.Cost.Source)
		if l.RateFrom != nil {
			c.source(l.RateFrom.Source)
		}
		for i := range l.Overrides {
			c.matchers(l.Overrides[i].When)
		}
		c.key(l.Key)
		c.key(l.HashTag)
	}
	out := make([]string, 0, len(c.seen))
	for path := range c.seen {
		out = append(out, path)
	}
	sort.Stable(sort.StringSlice(out))
	return out
}

// collector collects attributes. Its methods aren't inlined: there are many calls.
type collector struct {
	of   *source.Options
	seen map[string]bool
}

//go:noinline
func (c *collector) source(s source.Source) {
	if a, ok := s.(source.Attributed); ok {
		for _, path := range a.Attributes(c.of) {
			c.seen[path] = true
		}
	}
}

//go:noinline
func (c *collector) matchers(list ...*match.Matcher) {
	for _, m := range list {
		for _, condition := range m.Conditions() {
			c.source(condition.Source())
		}
	}
}

//go:noinline
func (c *collector) key(k *key.Key) {
	for _, part := range k.Parts() {
		for _, s := range part {
			c.source(s)
		}
	}
}

// paths are the choices about paths.
type paths struct {
	ignoreCase, ignoreTrailingSlash bool
}

var defaultPaths paths

var pathsTable = newTable("paths", "Paths are always compared decoded, without query, parameters after `;`, dot segments and doubled slashes.", &defaultPaths, []*field{
	row("ignore_case", &defaultPaths.ignoreCase, boolean(), "false", "Paths that differ in letter case are one path."),
	row("ignore_trailing_slash", &defaultPaths.ignoreTrailingSlash, boolean(), "true", "`/a/` and `/a` are one path."),
}, nil)

// spellings are the choices about paths, among other options of sources.
//
//go:noinline
func spellings() kind[source.Options] {
	table := pathsTable.kind()
	return kind[source.Options]{newKind(func(p *parser, v *jsontext.Value, to *source.Options) bool {
		var t paths
		ok := table.read(p, v, &t)
		to.IgnoreCase, to.IgnoreTrailingSlash = t.ignoreCase, t.ignoreTrailingSlash
		return ok
	}).like(table.reader)}
}

var defaultDebug *match.Matcher

var debugTable = newTable("debug", "Answers to these requests also get x-sluice-limit, -mode, -redis-us and -at.", &defaultDebug, []*field{
	must(row("when", &defaultDebug, conditions(), "", "Conditions that all have to hold, such as a header with a secret.")),
}, nil)
