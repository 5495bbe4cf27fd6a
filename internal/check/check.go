// Package check puts together what `sluice check` reports about a configuration:
// errors and warnings with their places, and what the limits cost in Redis. It
// is for the tool only.
package check

import (
	"sluice/internal/advice"
	"sluice/internal/changes"
	"sluice/internal/config"
	"sluice/internal/configfile"
	"sluice/internal/stored"
)

// Report is about all configurations that were checked.
type Report struct {
	Configs  []Config         `json:"configs"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Against  string           `json:"against,omitempty"`
	Changes  []changes.Change `json:"changes,omitempty"` // from Against
}

// Config is about one configuration.
type Config struct {
	File     string    `json:"file"`
	Where    string    `json:"where,omitempty"` // in the file
	Errors   []Error   `json:"errors,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	Limits   []Limit   `json:"limits,omitempty"`
	// CallsPerRequest and CountersPerRequest are the most that one request causes.
	CallsPerRequest    int `json:"calls_per_request"`
	CountersPerRequest int `json:"counters_per_request"`

	Policy *config.Policy `json:"-"` // nil when there are errors
}

// Error is something wrong, with its place in the file; Line 0 is the whole.
type Error struct {
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Path       string `json:"path"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Text is the error without its line and column.
func (e *Error) Text() string {
	return config.Error{Path: e.Path, Message: e.Message, Suggestion: e.Suggestion}.Error()
}

// Warning is something that is probably not meant, with its place in the file.
type Warning struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	advice.Warning
}

// Limit is what one rate of a limit costs.
type Limit struct {
	Name      string `json:"name"`
	Rate      string `json:"rate"`
	Algorithm string `json:"algorithm"`
	Key       string `json:"key,omitempty"`
	// BytesPerKey is the memory that a full counter takes in Redis, with its key.
	BytesPerKey int64 `json:"bytes_per_key"`
}

// Add checks one configuration of a file.
func (r *Report) Add(file string, f *configfile.Found) {
	c := Config{File: file, Where: f.Where, Policy: f.Policy}
	for _, p := range f.Problems {
		c.Errors = append(c.Errors, Error{p.Line, p.Column, p.Path, p.Message, p.Suggestion})
	}
	if f.Policy != nil {
		s := &advice.Subject{Policy: f.Policy, Routes: f.Routes, RoutesUnnamed: f.RoutesUnnamed}
		for _, w := range advice.Look(s) {
			line, column := f.Position(w.Path)
			c.Warnings = append(c.Warnings, Warning{line, column, w})
		}
		c.cost(f.Policy)
	}
	r.Errors += len(c.Errors)
	r.Warnings += len(c.Warnings)
	r.Configs = append(r.Configs, c)
}

// typicalValue is how long a key's values are taken to be, bytes.
const typicalValue = 20

// cost estimates what the limits cost in Redis.
func (c *Config) cost(p *config.Policy) {
	groups := map[string]int{} // counters of the limit of each group that has most
	slots := map[string]bool{}
	for _, l := range p.Limits {
		for i := range l.Rates {
			r := &l.Rates[i]
			row := Limit{Name: r.Name, Rate: r.Text, Algorithm: l.Algorithm.Name, Key: l.Key.String()}
			if l.Algorithm.Storage != "" {
				row.Algorithm += ", " + l.Algorithm.Storage
			}
			name := len(r.KeyHead) + len(r.KeyTail) + typicalValue*len(l.Key.Parts())
			row.BytesPerKey = stored.KeyBytes(name) + stored.Of(l.Algorithm).Bytes(&r.Params)
			c.Limits = append(c.Limits, row)
		}
		n := counters(l)
		if l.Group == "" {
			c.CountersPerRequest += n
		} else {
			groups[l.Group] = max(groups[l.Group], n)
		}
		slot := l.Name
		if l.HashTag != nil {
			slot = "tag " + l.HashTag.String()
		}
		slots[slot] = true
	}
	for _, n := range groups {
		c.CountersPerRequest += n
	}
	switch {
	case len(p.Limits) == 0:
	case p.Redis.Topology == config.RedisCluster:
		c.CallsPerRequest = len(slots) // a call for each hash slot
	default:
		c.CallsPerRequest = 1
	}
}

// counters is how many counters a request has at a limit at most.
func counters(l *config.Limit) int {
	n := len(l.Rates)
	for i := range l.Overrides {
		n = max(n, len(l.Overrides[i].Rates))
	}
	if l.PenaltyUS > 0 {
		n *= 2
	}
	return n
}
