package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/changes"
	"sluice/internal/config"
	"sluice/internal/stack"
)

// gateway is one Envoy as its admin interface shows it.
type gateway struct {
	at    string
	admin stack.Admin
	dump  *dump
	stats stats
}

// gatewayChecks look at one gateway.
var gatewayChecks = []struct {
	name string
	run  func(ctx context.Context, r *room, g *gateway) error
}{
	{"envoy-version", envoyVersion},
	{"plugin", plugin},
	{"decisions", decisions},
	{"operators", operators},
	{"client-address", clientAddress},
	{"idle-timeout", idleTimeout},
	{"metric-labels", metricLabels},
	{"pipe", pipe},
}

// gateways runs the checks of gateways on each, and compares them.
func (r *room) envoys(ctx context.Context) {
	var all []*gateway
	for _, at := range r.Gateways {
		r.node, r.name = at, "envoy"
		g, err := reach(ctx, at)
		if err != nil {
			r.fail("its admin interface doesn't answer: "+err.Error(), "check the address; admin listens where Envoy's `admin` says, often on its own machine only")
			continue
		}
		all = append(all, g)
		for _, c := range gatewayChecks {
			r.name = c.name
			if err := c.run(ctx, r, g); err != nil {
				r.fail("its admin interface doesn't answer: "+err.Error(), "try again; look at Envoy's log")
			}
		}
	}
	r.node, r.name = "", "configurations"
	r.compare(all)
	r.name = "overrides"
	r.compareOverrides(all)
}

// reach reads what all checks look at.
func reach(ctx context.Context, at string) (*gateway, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/")
	g := &gateway{at: at, admin: stack.Admin(host)}
	text, err := g.admin.ConfigDump(ctx)
	if err != nil {
		return nil, err
	}
	if g.dump, err = readDump(text); err != nil {
		return nil, fmt.Errorf("its config_dump is no JSON: %w", err)
	}
	all, err := g.admin.Stats(ctx)
	g.stats = stats(all)
	return g, err
}

// Oldest Envoy that the module runs on.
const oldestMajor, oldestMinor = 1, 33

func envoyVersion(ctx context.Context, r *room, g *gateway) error {
	text, err := g.admin.Get(ctx, "/server_info")
	if err != nil {
		return err
	}
	var info struct {
		Version string `json:"version"`
		State   string `json:"state"`
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return err
	}
	version := info.Version // commit/1.40.0/Clean/RELEASE/BoringSSL
	if parts := strings.Split(version, "/"); len(parts) > 1 {
		version = parts[1]
	}
	numbers := strings.SplitN(strings.SplitN(version, "-", 2)[0], ".", 3)
	major, _ := strconv.Atoi(numbers[0])
	minor := 0
	if len(numbers) > 1 {
		minor, _ = strconv.Atoi(numbers[1])
	}
	switch {
	case major < oldestMajor || major == oldestMajor && minor < oldestMinor:
		r.fail("Envoy "+version+" is too old for the plugin", fmt.Sprintf("use Envoy %d.%d (Istio 1.25) or later", oldestMajor, oldestMinor))
	case info.State != "" && info.State != "LIVE":
		r.warn("Envoy "+version+" is "+info.State, "wait until it is LIVE")
	default:
		r.ok("Envoy " + version)
	}
	return nil
}

// plugin looks whether the filter is there and runs.
func plugin(_ context.Context, r *room, g *gateway) error {
	if len(g.dump.plugins) == 0 {
		r.fail("no sluice filter is configured: nothing is limited here", "add the filter, as in envoy.yaml or by `sluice manifest`")
		return nil
	}
	for _, p := range g.dump.plugins {
		if len(p.errs) > 0 {
			r.fail("a configuration that it was given is wrong: "+p.errs[0].Error(), "correct it, and run `sluice check` before each rollout")
			return nil
		}
	}
	if _, ok := g.stats.find("sluice_panics_total"); !ok {
		r.fail("the filter is configured and doesn't run: none of its metrics is there", "look for wasm in Envoy's log: the module's path, a wrong configuration; or let metrics named sluice_ through (Istio: proxyStatsMatcher)")
		return nil
	}
	if n, _ := g.stats.find("sluice_config_errors_total"); n > 0 {
		r.warn("it refused a configuration since it started, and runs the one before", "see Envoy's log for each error")
	}
	if n, _ := g.stats.find("sluice_panics_total"); n > 0 {
		r.warn(fmt.Sprintf("%.0f callbacks of the plugin failed", n), "report what Envoy's log says after \"panic\"")
	}
	r.ok(fmt.Sprintf("the filter runs, configuration %s, %s", g.dump.plugins[0].print, limits(g.dump.plugins[0].policy)))
	return nil
}

func limits(p *config.Policy) string {
	if len(p.Limits) == 1 {
		return "1 limit"
	}
	return strconv.Itoa(len(p.Limits)) + " limits"
}

// decisions looks at how requests were decided.
func decisions(_ context.Context, r *room, g *gateway) error {
	if n, _ := g.stats.find("sluice_breaker_open"); n > 0 {
		r.fail("Redis failed several times in a row, and isn't asked until it answers again: on_error decides", "see the findings about Redis and the pipe")
	}
	kinds := g.stats.each("sluice_redis_errors_total")
	if len(kinds) > 0 {
		r.warn("calls to Redis failed since the start: "+strings.Join(kinds, ", "), "timeout: Redis or the network is slow; lost, unavailable: connections; auth: rights; error_reply: see the plugin's log")
	}
	if n := g.stats.sum("sluice_decisions_total", "failed_open"); n > 0 {
		r.warn(fmt.Sprintf("%.0f decisions let requests through uncounted", n), "on_error: local counts each gateway's share instead")
	}
	if n := g.stats.sum("sluice_decisions_total", "failed_closed"); n > 0 {
		r.warn(fmt.Sprintf("%.0f decisions refused requests because Redis didn't answer", n), "on_error: local counts each gateway's share instead")
	}
	if len(kinds) == 0 {
		r.ok("no call to Redis failed")
	}
	return nil
}

// clientAddress looks whether Envoy tells whom it is connected to.
func clientAddress(_ context.Context, r *room, g *gateway) error {
	if n, _ := g.stats.find("sluice_client_unknown_total"); n > 0 {
		r.fail(fmt.Sprintf("%.0f requests had no client address that can be believed; those share one counter", n), "set use_remote_address: true in the HTTP connection manager, or client_ip: {envoy: true} in a sidecar")
		return nil
	}
	for _, p := range g.dump.plugins {
		if p.policy == nil || p.policy.Source.Client.Envoy || !slices.Contains(p.policy.Attributes, "source\x00address") {
			continue
		}
		for _, m := range g.dump.managers {
			if on, _ := m["use_remote_address"].(bool); !on {
				prefix, _ := m["stat_prefix"].(string)
				r.fail("use_remote_address isn't set in the HTTP connection manager "+prefix+": the whole of X-Forwarded-For is the caller's own word, so `ip` is missing", "set use_remote_address: true, or client_ip: {envoy: true} in a sidecar")
				return nil
			}
		}
	}
	r.ok("client addresses are Envoy's own")
	return nil
}

// idleTimeout looks whether a request that a dead plugin held would ever end.
func idleTimeout(_ context.Context, r *room, g *gateway) error {
	for _, m := range g.dump.managers {
		if t, _ := m["stream_idle_timeout"].(string); t == "0s" {
			prefix, _ := m["stat_prefix"].(string)
			r.warn("stream_idle_timeout is 0s in the HTTP connection manager "+prefix+": should the plugin's machine ever die, the requests that it held never end", "set stream_idle_timeout, for example to 60s")
			return nil
		}
	}
	return nil
}

// metricLabels looks whether Envoy makes labels of the plugin's metric names.
func metricLabels(_ context.Context, r *room, g *gateway) error {
	if len(g.dump.plugins) == 0 {
		return nil
	}
	if !g.dump.tags {
		r.warn("stats_tags are missing, so that dashboards and alerts don't find the metrics by limit and outcome", "add the stats_config of envoy.yaml to the bootstrap")
		return nil
	}
	r.ok("metrics have their labels")
	return nil
}

// compare looks whether all gateways run the same configuration, and the file's.
func (r *room) compare(all []*gateway) {
	byPrint := map[string][]string{}
	var order []string
	runs := map[string]*running{}
	add := func(p running, where string) {
		if byPrint[p.print] == nil {
			order = append(order, p.print)
			runs[p.print] = &p
		}
		if !slices.Contains(byPrint[p.print], where) {
			byPrint[p.print] = append(byPrint[p.print], where)
		}
	}
	if len(r.PolicyRaw) > 0 {
		add(running{print: Fingerprint(r.PolicyRaw), policy: r.Policy}, r.PolicyAt)
	}
	n := 0
	for _, g := range all {
		for _, p := range g.dump.plugins {
			n++
			add(p, g.at)
		}
	}
	switch {
	case n == 0:
	case len(order) == 1:
		r.ok(fmt.Sprintf("all run configuration %s", order[0]))
	default:
		var text []string
		for _, print := range order {
			text = append(text, print+" at "+strings.Join(byPrint[print], ", "))
		}
		r.fail("gateways that run different configurations: "+strings.Join(text, "; ")+differ(runs[order[0]], runs[order[1]]),
			"roll one of them out everywhere; a listener that changed serves its open connections with the old one until they end")
	}
}

// differ says what differs between two configurations, as far as limits go.
func differ(a, b *running) string {
	if a.policy == nil || b.policy == nil {
		return ""
	}
	list := changes.Between(a.policy, b.policy)
	if len(list) == 0 {
		return " (their limits count alike)"
	}
	var text []string
	for _, c := range list {
		text = append(text, strings.TrimSpace(c.Limit+" "+string(c.Kind)+": "+c.Text))
	}
	const most = 3
	if len(text) > most {
		text = append(text[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return " (from the first to the second: " + strings.Join(text, "; ") + ")"
}
