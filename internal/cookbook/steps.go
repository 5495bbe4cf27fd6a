package cookbook

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Test is what a recipe does, and its place on the page.
type Test struct {
	// Topic is the part of the page that the recipe belongs to.
	Topic string `yaml:"topic"`
	// Like says what the recipe is called elsewhere, by system.
	Like map[string]string `yaml:"like"`
	// Now is the time of the first step; the clock moves by wait alone.
	Now time.Time `yaml:"now"`
	// Env are environment variables that the plugin sees.
	Env map[string]string `yaml:"env"`
	// RedisAway leaves the plugin without Redis.
	RedisAway bool   `yaml:"redis_away"`
	Steps     []Step `yaml:"steps"`
}

// Step is one thing that happens: time passes, a request comes, an answer to
// one that was held back comes, or something is looked at.
type Step struct {
	Wait time.Duration `yaml:"wait"`

	// Request is a method and a path. What follows is the rest of it.
	Request  string            `yaml:"request"`
	Host     string            `yaml:"host"`    // default example.com
	IP       string            `yaml:"ip"`      // of the peer; default 192.0.2.1
	Headers  map[string]Values `yaml:"headers"` // of the request
	Body     int               `yaml:"body"`    // bytes
	Chunked  bool              `yaml:"chunked"` // the body's length isn't announced
	Route    string            `yaml:"route"`
	JWT      map[string]any    `yaml:"jwt"` // claims of a verified token
	Metadata map[string]any    `yaml:"metadata"`
	State    map[string]string `yaml:"filter_state"`
	Attrs    map[string]string `yaml:"attributes"`

	// Times is how many such requests come: one after the other, each answered
	// before the next, or with Together all before the first is answered.
	Times    int  `yaml:"times"`
	Together bool `yaml:"together"`
	// Hold leaves them without an answer until a step with Finish of that name,
	// which may say what has become of them by then.
	Hold   string `yaml:"hold"`
	Finish string `yaml:"finish"`
	// Answer is the upstream's; default 200.
	Answer Answer `yaml:"answer"`
	Expect Expect `yaml:"expect"`

	// Counts are decisions by limit and outcome so far, those left out 0.
	Counts map[string]map[string]int64 `yaml:"counts"`
	// Keys are all keys in Redis.
	Keys []string `yaml:"keys"`

	line int
}

// Answer is how a request that passed ends.
type Answer struct {
	Status   int               `yaml:"status"`
	Headers  map[string]Values `yaml:"headers"`
	Body     Values            `yaml:"body"` // in pieces
	Trailers map[string]Values `yaml:"trailers"`
	// ByEnvoy is an answer of Envoy's own, as when no upstream can be reached.
	ByEnvoy bool `yaml:"by_envoy"`
	// Gone is a client that leaves before the answer.
	Gone bool `yaml:"gone"`
}

// Expect is what becomes of a request. What is left out isn't looked at.
type Expect struct {
	// Result is one of those below, or a status of the plugin's own.
	Result string `yaml:"result"`
	Limit  string `yaml:"limit"` // that the decision is about
	// Remaining and Reset are those of the header ratelimit; Policy is the whole
	// header ratelimit-policy.
	Remaining *int64 `yaml:"remaining"`
	Reset     *int64 `yaml:"reset"`
	Policy    string `yaml:"policy"`
	// RetryAfter is seconds; 0 wants no such header.
	RetryAfter *int64 `yaml:"retry_after"`
	// Headers are those of the answer, Upstream those of the request as it went
	// on; null wants none of that name.
	Headers  map[string]*string `yaml:"headers"`
	Upstream map[string]*string `yaml:"upstream"`
	Body     string             `yaml:"body"` // a part of it
	// Delay is how long the request was held back.
	Delay time.Duration `yaml:"delay"`
}

// Values are texts; one may stand without a list.
type Values []string

// UnmarshalYAML reads a text or a list of texts.
func (v *Values) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*v = Values{n.Value}
		return nil
	}
	return n.Decode((*[]string)(v))
}

// UnmarshalYAML reads a result alone, or all that is expected.
func (e *Expect) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		e.Result = n.Value
		return nil
	}
	type plain Expect
	return strict(n, (*plain)(e))
}

// UnmarshalYAML reads a status, gone, or all of an answer.
func (a *Answer) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value == "gone" {
			a.Gone = true
			return nil
		}
		return n.Decode(&a.Status)
	}
	type plain Answer
	return strict(n, (*plain)(a))
}

// UnmarshalYAML keeps the step's line.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	type plain Step
	s.line = n.Line
	return strict(n, (*plain)(s))
}

// strict decodes an object whose fields must all be known.
func strict(n *yaml.Node, into any) error {
	text, err := yaml.Marshal(n)
	if err != nil {
		return err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// Line is where the step stands in its file.
func (s *Step) Line() int { return s.line }

// Results of a request that isn't answered by the plugin.
const (
	Passed     = "passed"      // a limit let it through
	Free       = "free"        // no limit applied
	FailedOpen = "failed_open" // let through because nobody could decide
	Held       = "held"        // not waited for; Hold names it for a later Finish
)

func (t *Test) read(text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(t); err != nil {
		return err
	}
	if !slices.Contains(Topics, t.Topic) {
		return fmt.Errorf("topic %q is none of %q", t.Topic, Topics)
	}
	for system := range t.Like {
		if !slices.Contains(Systems, system) {
			return fmt.Errorf("like: %q is none of %q", system, Systems)
		}
	}
	if len(t.Steps) == 0 {
		return errors.New("no steps")
	}
	for i := range t.Steps {
		if err := t.Steps[i].check(); err != nil {
			return fmt.Errorf("line %d: %w", t.Steps[i].line, err)
		}
	}
	return nil
}

// check finds steps that would look at nothing.
func (s *Step) check() error {
	kinds := 0
	for _, is := range []bool{s.Wait > 0, s.Request != "", s.Finish != "", s.Counts != nil, s.Keys != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("a step is one of wait, request, finish, counts and keys")
	}
	if s.Request == "" {
		return nil
	}
	switch s.Expect.Result {
	case Passed, Free, FailedOpen:
	case Held:
		if s.Hold == "" || !s.Together {
			return errors.New("held is expected of requests with hold and together")
		}
	default:
		if code, err := strconv.Atoi(s.Expect.Result); err != nil || code < 400 || code > 599 {
			return fmt.Errorf("expected result %q is none of %s, %s, %s, %s and a status", s.Expect.Result, Passed, Free, FailedOpen, Held)
		}
	}
	if s.Expect.Delay > 0 && (s.Times > 1 || s.Together) {
		return errors.New("a delay is expected of one request at a time")
	}
	return nil
}
