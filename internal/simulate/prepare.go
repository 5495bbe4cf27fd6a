package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/accesslog"
	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/match"
	"sluice/internal/source"
)

// Config is a configuration, ready to be varied.
type Config struct {
	Name   string // what reports call it: its file
	Policy *config.Policy

	fields map[string]json.RawMessage
	limits []map[string]json.RawMessage
}

// ConfigError is all that is wrong with a configuration.
type ConfigError struct {
	Name string
	List []yamlconfig.Problem
}

func (p *ConfigError) Error() string {
	var lines []string
	for _, one := range p.List {
		lines = append(lines, p.Name+":"+one.String())
	}
	return strings.Join(lines, "\n")
}

// LoadConfig reads a configuration: YAML or JSON.
func LoadConfig(name string, text []byte) (*Config, error) {
	policy, problems := yamlconfig.Parse(text)
	if len(problems) > 0 {
		return nil, &ConfigError{name, problems}
	}
	doc, problem := yamlconfig.Convert(text)
	if problem != nil {
		return nil, &ConfigError{name, []yamlconfig.Problem{*problem}}
	}
	c := &Config{Name: name, Policy: policy}
	if err := json.Unmarshal(doc.JSON, &c.fields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(c.fields["limits"], &c.limits); err != nil {
		return nil, err
	}
	return c, nil
}

// variant compiles the configuration for a run: on the simulator's clock, under
// a prefix of its own, without the limits at the positions in without, and with
// another algorithm unless that is "".
func (c *Config) variant(prefix, algorithm string, without map[int]bool) (*engine.Engine, error) {
	fields := map[string]json.RawMessage{}
	for name, v := range c.fields {
		fields[name] = v
	}
	redis := map[string]json.RawMessage{}
	if raw := fields["redis"]; raw != nil {
		if err := json.Unmarshal(raw, &redis); err != nil {
			return nil, err
		}
	}
	redis["prefix"] = json.RawMessage(strconv.Quote(prefix))
	// One gateway counts alike wherever its counters are: here all are in one Redis,
	// and one call decides all limits of a request.
	delete(redis, "topology")
	limits := []map[string]json.RawMessage{}
	for i, l := range c.limits {
		if without[i] {
			continue
		}
		if algorithm != "" {
			l = withAlgorithm(l, algorithm)
		}
		if l["scope"] != nil {
			l = maps.Clone(l)
			delete(l, "scope")
		}
		limits = append(limits, l)
	}
	fields["clock"] = json.RawMessage(`"gateway"`)
	var err error
	if fields["redis"], err = json.Marshal(redis); err != nil {
		return nil, err
	}
	if fields["limits"], err = json.Marshal(limits); err != nil {
		return nil, err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	policy, errs := config.Parse(text)
	if errs != nil {
		if algorithm == "" {
			return nil, errs
		}
		return nil, UsageError("the limits can't all be counted by " + algorithm + ": " + errs[0].Error())
	}
	if policy.HashKeys {
		secret := os.Getenv(policy.HashSecretEnv)
		if secret == "" {
			secret = "simulate"
		}
		policy.SetHashSecret([]byte(secret))
	}
	policy.Cool() // hot fields are about round trips, which there are none of here
	return engine.New(policy), nil
}

// withAlgorithm is a limit with another algorithm: what that doesn't take goes.
// A limit on requests in flight stays as it is, since it has no rate.
func withAlgorithm(l map[string]json.RawMessage, algorithm string) map[string]json.RawMessage {
	if string(l["algorithm"]) == `"concurrency"` {
		return l
	}
	var takes []string
	all := map[string]bool{"storage": true}
	for _, a := range limit.Algorithms() {
		if a.Name == algorithm && takes == nil {
			takes = append([]string{""}, a.Options...)
		}
		for _, o := range a.Options {
			all[o] = true
		}
	}
	out := map[string]json.RawMessage{}
	for name, v := range l {
		if !all[name] || slices.Contains(takes, name) {
			out[name] = v
		}
	}
	out["algorithm"] = json.RawMessage(strconv.Quote(algorithm))
	if raw := l["overrides"]; raw != nil && !slices.Contains(takes, "burst") {
		var overrides []map[string]json.RawMessage
		if json.Unmarshal(raw, &overrides) == nil {
			for _, o := range overrides {
				delete(o, "burst")
				if len(o) == 1 { // only when is left: nothing changes
					o["rate"] = l["rate"]
				}
			}
			if b, err := json.Marshal(overrides); err == nil {
				out["overrides"] = b
			}
		}
	}
	return out
}

// CheckAlgorithm reports whether a name is an algorithm that a limit with a rate
// can have.
func CheckAlgorithm(name string) error {
	var names []string
	for _, a := range limit.Algorithms() {
		if a == limit.Concurrency || slices.Contains(names, a.Name) {
			continue
		}
		if a.Name == name {
			return nil
		}
		names = append(names, a.Name)
	}
	return UsageError(fmt.Sprintf("%q is no algorithm to compare: expected %s", name, strings.Join(names, ", ")))
}

// placeNotes say what the figures are of where a limit isn't counted by all gateways
// together, or more than a configuration has a say.
func placeNotes(p *config.Policy, redisGiven bool) []string {
	var own []string
	for _, l := range p.Limits {
		if l.Scope == config.ScopeGateway {
			own = append(own, l.Name)
		}
	}
	var notes []string
	if len(own) > 0 {
		notes = append(notes, "scope: gateway: the figures of "+strings.Join(own, ", ")+" are those of one gateway that gets all requests; several gateways admit that each")
	}
	if p.Redis.Topology == config.RedisCluster {
		notes = append(notes, "topology: cluster: counts are as in a cluster whose nodes all answer; what an undo between two slots changes for a moment isn't shown")
	}
	if redisGiven && p.RuntimeOverrides {
		notes = append(notes, "overrides set at run time are not applied: the configuration alone is simulated")
	}
	return notes
}

// Unfed is a limit that the input can't feed.
type Unfed struct {
	Limit string   `json:"limit"`
	Lacks []string `json:"lacks"` // what it needs and the input doesn't say
}

// feeder says what an input tells of a request.
type feeder struct {
	fields []accesslog.Field
	// answers, sizes and durations of requests are known.
	status, sent, received, duration bool
}

func newFeeder(fields []accesslog.Field) feeder {
	f := feeder{fields: fields}
	for _, one := range fields {
		switch one.Kind {
		case accesslog.Status:
			f.status = true
		case accesslog.Sent:
			f.sent = true
		case accesslog.Received:
			f.received = true
		case accesslog.DurationMS, accesslog.DurationS, accesslog.DurationNS, accesslog.DurationAny:
			f.duration = true
		}
	}
	return f
}

func (f *feeder) has(s source.Source) bool {
	return s == nil || accesslog.Feeds(f.fields, s)
}

// lacks lists what a limit needs and the input doesn't say, and notes what is
// only of less effect without.
func (f *feeder) lacks(l *config.Limit) (lacks, notes []string) {
	need := func(s source.Source) {
		if !f.has(s) && !slices.Contains(lacks, s.String()) {
			lacks = append(lacks, s.String())
		}
	}
	matcher := func(m *match.Matcher) {
		for _, c := range m.Conditions() {
			need(c.Source())
		}
	}
	matcher(l.Match)
	for _, m := range l.Except {
		matcher(m)
	}
	for _, p := range l.Key.Parts() {
		// One of the alternatives is enough.
		if !slices.ContainsFunc(p, f.has) {
			need(p[0])
		}
	}
	need(l.Cost.Source)
	if l.Cost.BodyBytes && !f.received && !accesslog.FeedsHeader(f.fields, "content-length") {
		lacks = append(lacks, "the request's bytes")
	}
	if l.Algorithm.Holds && !f.duration {
		lacks = append(lacks, "how long a request took")
	}
	if s := l.Settle; s != nil {
		if (s.ChargeOn != nil || s.RefundOn != nil) && !f.status {
			lacks = append(lacks, "the answer's status")
		}
		if c := s.Cost; c != nil {
			switch c.From {
			case config.SettleBytes:
				if !f.sent {
					lacks = append(lacks, "the answer's bytes")
				}
			case config.SettleMetadata:
				need(c.Source)
			case config.SettleJSON:
				lacks = append(lacks, "response_json:"+c.Name)
			case config.SettleHeader:
				if !slices.ContainsFunc(f.fields, func(x accesslog.Field) bool { return x.Kind == accesslog.RespHeader && x.Name == c.Name }) {
					lacks = append(lacks, "response_header:"+c.Name)
				}
			case config.SettleTrailer:
				if !slices.ContainsFunc(f.fields, func(x accesslog.Field) bool { return x.Kind == accesslog.RespTrailer && x.Name == c.Name }) {
					lacks = append(lacks, "response_trailer:"+c.Name)
				}
			}
		}
	}
	if l.RateFrom != nil && !f.has(l.RateFrom.Source) {
		notes = append(notes, fmt.Sprintf("%s: the input has no %s, so every request has the default rate", l.Name, l.RateFrom.Source))
	}
	overrides := map[string]int{}
	for i := range l.Overrides {
		for _, c := range l.Overrides[i].When.Conditions() {
			if !f.has(c.Source()) {
				overrides[c.Source().String()]++
			}
		}
	}
	for _, name := range sortedKeys(overrides) {
		notes = append(notes, fmt.Sprintf("%s: the input has no %s, so overrides that ask for it (%d) never hold", l.Name, name, overrides[name]))
	}
	return lacks, notes
}

// unfed finds the limits that the input can't feed, by position.
func (f *feeder) unfed(p *config.Policy) (without map[int]bool, list []Unfed, notes []string) {
	without = map[int]bool{}
	for i, l := range p.Limits {
		lacks, n := f.lacks(l)
		if len(lacks) > 0 {
			without[i] = true
			list = append(list, Unfed{l.Name, lacks})
			if l.Group != "" {
				notes = append(notes, fmt.Sprintf("%s is left out, so later limits of the group %s may apply to more requests than they will", l.Name, l.Group))
			}
			continue
		}
		notes = append(notes, n...)
	}
	for _, m := range p.Except {
		for _, c := range m.Conditions() {
			if !f.has(c.Source()) {
				notes = append(notes, fmt.Sprintf("the input has no %s, so an exception that asks for it isn't made", c.Source()))
			}
		}
	}
	return without, list, notes
}

// clientNotes tells what of client_ip the input can't follow.
func (f *feeder) clientNotes(p *config.Policy) []string {
	c := &p.Source.Client
	var missing string
	switch {
	case c.Header != "" && !accesslog.FeedsHeader(f.fields, c.Header):
		missing = c.Header
	case (c.TrustedHops > 0 || c.Trusted != nil) && !accesslog.FeedsHeader(f.fields, "x-forwarded-for"):
		missing = "x-forwarded-for"
	default:
		return nil
	}
	return []string{"client_ip asks for the header " + missing + ", which the input doesn't have: its addresses are taken for the clients' own"}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
