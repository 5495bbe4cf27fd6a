// Package match compiles the conditions by which a limit picks its requests,
// and finds those of many limits that hold for one request.
package match

import (
	"strings"

	"sluice/internal/source"
)

// Condition is a statement about one part of a request.
type Condition interface {
	// Holds reports whether the statement is true of a request.
	Holds(v *source.View) bool
	// Source is the part of the request that the statement is about.
	Source() source.Source
	// String is the statement as a person would write it: source: value.
	String() string
}

// Matcher holds for a request when all of its conditions do; one without
// conditions holds for every request. It is immutable.
type Matcher struct {
	conditions []Condition
}

// New makes a Matcher of conditions.
func New(conditions ...Condition) *Matcher {
	return &Matcher{conditions: conditions}
}

// Matches reports whether all conditions hold. A nil Matcher matches.
func (m *Matcher) Matches(v *source.View) bool {
	if m == nil {
		return true
	}
	for _, c := range m.conditions {
		if !c.Holds(v) {
			return false
		}
	}
	return true
}

// Conditions lists what has to hold, in the order in which it is tried.
func (m *Matcher) Conditions() []Condition {
	if m == nil {
		return nil
	}
	return m.conditions
}

// Failing returns the first condition that doesn't hold, or nil.
func (m *Matcher) Failing(v *source.View) Condition {
	for _, c := range m.Conditions() {
		if !c.Holds(v) {
			return c
		}
	}
	return nil
}

// Templates lists the path templates of which one has to match, for sources
// that name a template's parameter.
func (m *Matcher) Templates() []*source.Template {
	for _, c := range m.Conditions() {
		if p, ok := c.(*pathCondition); ok {
			return p.templates
		}
	}
	return nil
}

func (m *Matcher) String() string {
	var b strings.Builder
	for i, c := range m.Conditions() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.String())
	}
	return b.String()
}

// parser compiles the alternatives of one condition.
type parser func(s source.Source, texts []string, o *source.Options) (Condition, error)

// special has the sources whose conditions have a syntax of their own, by
// String; each is entered by its file.
var special = map[string]parser{}

// Parse compiles a condition: s has to be one of texts. Each text is a value,
// "present", "absent" or "~" and a regular expression; path, host, ip and
// method have more forms. An error is a *TextError for the text it is about.
func Parse(s source.Source, texts []string, o *source.Options) (Condition, error) {
	if p := special[s.String()]; p != nil {
		return p(s, texts, o)
	}
	return parseValues(s, texts, o)
}

// TextError says which of a condition's alternatives is wrong.
type TextError struct {
	Index   int // in texts
	Message string
}

func (e *TextError) Error() string { return e.Message }

// describe is a condition as text.
func describe(s source.Source, texts []string) string {
	if len(texts) == 1 {
		return s.String() + ": " + texts[0]
	}
	return s.String() + ": [" + strings.Join(texts, ", ") + "]"
}
