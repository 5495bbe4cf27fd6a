package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/operate"
)

// overrides looks at what operators set at run time.
func overrides(ctx context.Context, r *room) error {
	op := operate.Operator{Redis: r.Redis, Prefix: r.Prefix}
	if len(r.Policy.Limits) > 0 {
		op.Policy = r.Policy
	}
	f, err := op.Load(ctx)
	if err != nil {
		return err
	}
	if n := len(f.Held); n > 0 && !r.Policy.RuntimeOverrides {
		r.warn(fmt.Sprintf("%d overrides are set, and the configuration says runtime_overrides: false: gateways don't look at them", n),
			"remove that line, or the overrides with sluice unset --all")
		return nil
	}
	bad, example := f.Skipped, ""
	for _, h := range f.Held {
		if h.Problem == nil {
			continue
		}
		bad++
		if example == "" {
			example = ", such as " + strconv.Quote(h.Field) + ": " + h.Problem.Error()
		}
	}
	if bad > 0 {
		r.warn(fmt.Sprintf("gateways skip %d overrides%s", bad, example),
			"see them with sluice set --list, and set or unset them anew; only sluice should write "+r.Prefix+":{sluice}:set1")
		return nil
	}
	r.ok(fmt.Sprintf("%d overrides at run time", len(f.Held)))
	return nil
}

// operators looks at what a gateway's metrics tell of overrides, pools and clocks.
func operators(_ context.Context, r *room, g *gateway) error {
	before := len(r.found)
	if n, _ := g.stats.find("sluice_override_errors_total"); n > 0 {
		r.warn(fmt.Sprintf("overrides at run time were skipped, or not told by Redis, %.0f times", n),
			"see sluice set --list, and Envoy's log for Redis's own words; the gateways' user needs +hscan")
	}
	if n := g.stats.sum("sluice_mode_total", "degraded_exhausted"); n > 0 {
		r.warn(fmt.Sprintf("%.0f requests were rejected because the pool of a degraded limit was spent", n),
			"set a larger pool, or end it with sluice unset: see sluice set --list")
	}
	gateway := false
	for _, p := range g.dump.plugins {
		gateway = gateway || p.policy != nil && p.policy.Clock == config.ClockGateway
	}
	skew, _ := g.stats.find("sluice_clock_skew_ms")
	const remedy = "synchronise both by NTP (chronyc tracking, timedatectl)"
	switch {
	case skew > skewFail && gateway:
		r.warn(fmt.Sprintf("degraded: its clock is %.0f ms off Redis's, and clock is gateway: it counts by Redis's clock until its own is right", skew), remedy)
	case skew > skewFail:
		r.warn(fmt.Sprintf("its clock is %.0f ms off Redis's: limits hold, since they go by Redis's clock, but times in logs seem wrong", skew), remedy)
	}
	if len(r.found) == before {
		n, _ := g.stats.find("sluice_overrides")
		r.ok(fmt.Sprintf("%.0f overrides in force, the clock %.0f ms off Redis's", n, skew))
	}
	return nil
}

// compareOverrides looks whether all gateways heard of the same overrides.
func (r *room) compareOverrides(all []*gateway) {
	byCount := map[float64][]string{}
	for _, g := range all {
		if n, ok := g.stats.find("sluice_overrides"); ok {
			byCount[n] = append(byCount[n], g.at)
		}
	}
	if len(byCount) < 2 {
		return
	}
	var text []string
	for _, g := range all {
		if n, ok := g.stats.find("sluice_overrides"); ok {
			text = append(text, fmt.Sprintf("%.0f at %s", n, g.at))
		}
	}
	r.warn("gateways follow different numbers of overrides: "+strings.Join(text, ", "),
		"one that had no request yet has read none; else another Redis, database or prefix, or Redis refuses it: see its log")
}
