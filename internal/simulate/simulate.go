package simulate

import (
	"context"
	"errors"
	"fmt"

	"sluice/internal/engine"
)

// Options say how a simulation is made.
type Options struct {
	// Algorithms are run one after the other in the place of the limits' own; none
	// for those.
	Algorithms []string
	// Server decides by the scripts; nil for the models.
	Server     *Server
	ServerName string // what reports call it
	RedisGiven bool   // it is a Redis that others may use, too
	Top        int    // how many keys are listed for each limit
	Suggest    bool
	Series     bool // note what happens over time, for plots
	// Progress is told how many requests of the run-th of all runs went through;
	// it may be nil.
	Progress func(run int, n int64)
}

// ErrNothing means that there is nothing to simulate.
var ErrNothing = errors.New("the input holds no request")

// Simulate runs an input against a configuration.
func Simulate(ctx context.Context, c *Config, in Input, o Options) (*Report, error) {
	from, to, count := in.Span()
	if count == 0 {
		return nil, ErrNothing
	}
	feeder := newFeeder(in.Fields())
	without, unfed, notes := feeder.unfed(c.Policy)
	notes = append(notes, feeder.clientNotes(c.Policy)...)
	notes = append(notes, placeNotes(c.Policy, o.RedisGiven)...)
	report := &Report{Config: c.Name, NotFed: append([]Unfed{}, unfed...), From: from, To: to}
	report.By = "the models of the algorithms"
	if o.Server != nil {
		report.By = o.ServerName
	}
	algorithms := o.Algorithms
	if len(algorithms) == 0 {
		algorithms = []string{""}
	}
	for i, algorithm := range algorithms {
		progress := func(int64) {}
		if o.Progress != nil {
			progress = func(n int64) { o.Progress(i, n) }
		}
		prefix := randomPrefix()
		e, err := c.variant(prefix, algorithm, without)
		if err != nil {
			return nil, err
		}
		a := newAccount(prefix, seriesScale{}, in.hostNames())
		if o.Series {
			a = newAccount(prefix, newScale(from, to), in.hostNames())
		}
		a.demand = o.Suggest && i == 0
		if err := decideAll(ctx, in, e, a, o.Server, progress); err != nil {
			return nil, err
		}
		run := a.report(e.Policy(), o.Top)
		run.Algorithm = algorithm
		if a.demand {
			if run.Suggestions, err = a.suggest(ctx); err != nil {
				return nil, err
			}
			if a.full {
				notes = append(notes, fmt.Sprintf("suggestions are made from the first %d requests only", maxKept))
			}
		}
		report.Runs = append(report.Runs, run)
	}
	if c.Policy.HashKeys {
		notes = append(notes, "hash_keys is set: keys are shown as their hashes")
	}
	report.Notes = append(append([]string{}, in.Notes()...), notes...)
	return report, nil
}

// LeftError says that keys couldn't be deleted.
type LeftError struct {
	Prefix string // of their names
	Err    error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("keys %s:* may be left in Redis until they expire, an hour after their window: %v", e.Prefix, e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

// decideAll leads an input through an engine, and leaves no key behind.
func decideAll(ctx context.Context, in Input, e *engine.Engine, a *account, s *Server, progress func(int64)) (err error) {
	var d decider = newModels()
	if s != nil {
		if d, err = newScripts(ctx, *s, e); err != nil {
			return err
		}
	}
	err = run(ctx, in, e, d, a, progress)
	closed := d.close()
	if s != nil {
		if cleaned := s.clean(a.keys); cleaned != nil {
			if err == nil || ctx.Err() != nil {
				err = cleaned
			}
			return &LeftError{a.prefix, err}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = closed
	}
	return err
}
