// Package doctor looks for what goes wrong around limits: in Redis, in the keys
// that are there, and in the gateways. Each finding says what to do. It changes
// nothing. It is for the tool only.
package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/scan"
)

// Severity is how bad a finding is.
type Severity string

// Severities.
const (
	OK   Severity = "ok"
	Warn Severity = "warn" // limits hold, something else suffers or soon will
	Fail Severity = "fail" // limits don't hold, or requests suffer
)

// Finding is what one check found.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`   // a short name, such as eviction
	Subject  string   `json:"subject"` // a server, a gateway, a key; "" for all
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"` // "" where there is nothing to do
}

// Patient is what is looked at. Redis and Gateways may be left out.
type Patient struct {
	Redis     redis.UniversalClient // nil: not looked at
	Gateways  []string              // addresses of Envoys' admin interfaces
	Policy    *config.Policy        // nil: defaults
	PolicyAt  string                // file of Policy
	PolicyRaw []byte                // JSON of Policy
	Prefix    string                // of the keys
	Pacer     *scan.Pacer
	Now       func() time.Time // this machine's clock; nil: the real one
	// Pings is how many round trips are measured.
	Pings int
}

// check is one thing that is looked at.
type check struct {
	name string
	run  func(ctx context.Context, r *room) error
}

// room is where checks find the patient and leave findings.
type room struct {
	*Patient
	found []Finding
	name  string // of the check that runs
	node  string // of the server that is looked at
	clock clock
}

func (r *room) say(s Severity, subject, text, remedy string) {
	r.found = append(r.found, Finding{s, r.name, subject, text, remedy})
}

func (r *room) ok(text string)           { r.say(OK, r.node, text, "") }
func (r *room) warn(text, remedy string) { r.say(Warn, r.node, text, remedy) }
func (r *room) fail(text, remedy string) { r.say(Fail, r.node, text, remedy) }

// Examine runs all checks. An error is one that ends the examination: a server
// that can't be reached any more.
func Examine(ctx context.Context, p *Patient) ([]Finding, error) {
	if p.Policy == nil {
		policy, errs := config.Parse([]byte(`{"limits":[]}`))
		if len(errs) > 0 {
			return nil, errs
		}
		p.Policy = policy
	}
	if p.Prefix == "" {
		p.Prefix = p.Policy.Redis.Prefix
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Pings == 0 {
		p.Pings = 50
	}
	r := &room{Patient: p}
	if p.Redis != nil {
		if err := r.redis(ctx); err != nil {
			return r.found, err
		}
	}
	if len(p.Gateways) > 0 {
		r.envoys(ctx)
	}
	return r.found, nil
}

// redis runs the checks of servers on each, and then those of all keys.
func (r *room) redis(ctx context.Context) error {
	err := scan.Nodes(ctx, r.Redis, func(n scan.Node) error {
		r.node = n.Addr
		info, err := readInfo(ctx, n.Client)
		if err != nil {
			return err
		}
		for _, c := range serverChecks {
			r.name = c.name
			if err := c.run(ctx, r, n.Client, info); err != nil && !r.refused(err, c.name) {
				return err
			}
		}
		return nil
	})
	r.node = ""
	if err != nil {
		return err
	}
	for _, c := range keyChecks {
		r.name = c.name
		if err := c.run(ctx, r); err != nil && !r.refused(err, c.name) {
			return err
		}
	}
	return nil
}

// refused notes that Redis answered with an error: this user may not look, which
// is no fault of the gateways', or Redis is in no state to serve. It is false for
// an error of another kind.
func (r *room) refused(err error, what string) bool {
	var reply redis.Error
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		r.warn("this user may not look: "+err.Error(), "run doctor as a user who may, or check "+what+" by hand")
	case errors.As(err, &reply):
		r.fail("Redis refuses: "+err.Error(), "see the other findings, and Redis's log; gateways are refused, too, and on_error decides")
	default:
		return false
	}
	return true
}

// Worst is the highest severity among findings.
func Worst(all []Finding) Severity {
	worst := OK
	for _, s := range []Severity{Warn, Fail} {
		if slices.ContainsFunc(all, func(f Finding) bool { return f.Severity == s }) {
			worst = s
		}
	}
	return worst
}
