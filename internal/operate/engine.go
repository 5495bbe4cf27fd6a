package operate

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/internal/engine"
)

// InForce is what Redis says about overrides.
type InForce struct {
	// Engine decides as gateways do that have read the overrides; nil without a
	// configuration.
	Engine *engine.Engine
	Held   []Held
	Now    time.Time // Redis's
	// Skipped is how many entries gateways don't even read.
	Skipped int64
}

// Load reads the overrides, and makes an engine of them and the Policy, where there
// is one. With `runtime_overrides: false` none are in force, whatever Redis holds.
func (o *Operator) Load(ctx context.Context) (*InForce, error) {
	held, now, skipped, err := o.List(ctx)
	if err != nil {
		return nil, err
	}
	f := &InForce{Held: held, Now: now, Skipped: skipped}
	if o.Policy == nil {
		return f, nil
	}
	f.Engine = engine.New(o.Policy)
	if !o.Policy.RuntimeOverrides {
		for i := range f.Held {
			f.Held[i].Problem = errOff
		}
		return f, nil
	}
	var lines []string
	for _, h := range held {
		if h.Problem == nil {
			lines = append(lines, h.Field+" "+h.Entry.Value())
		}
	}
	e := f.Engine
	f.Engine, _ = e.Overridden(strings.Join(lines, "\n"), now.UnixMilli(), e.NumRates(), func(string, error) {})
	return f, nil
}

// errOff is why gateways skip everything.
var errOff = errors.New("the configuration says runtime_overrides: false")
