package main

// gateways writes the tables of the rows.
func (r *report) gateways() {
	p := r.options.plan
	r.line("## Gateways side by side\n")
	r.line("A gateway is one Envoy with one worker thread, `envoy.yaml` with the limiter that the row says and without an access log. "+
		"Behind it stands another Envoy that answers at once; all share one Redis, without persistence. "+
		"The load is closed-loop: `wrk -t1 -c%d`, or with as many connections as the table says, with `bench/load.lua`, which picks one of 10,000 values of the header `x-user-id` at random, or always the same one. "+
		"Each figure is the median of %d rounds of %v a row, after %v that isn't counted, with the least and the most of the rounds in parentheses; every other round goes backwards through the rows.\n",
		connections, len(r.longest()), p.Length, p.Warm)
	r.line("CPU is what the kernel counts for each process, user and system time, divided by the requests answered. "+
		"*Added* is the CPU of Envoy, Redis and the rate-limit service together above that of the table's base row in the same round. "+
		"Redis commands are counted by its `total_commands_processed`, so those inside scripts are in them. "+
		"Load generator, application, Redis and gateway share the machine's cores, so that requests a second are bounded by all of them together. "+
		"Gateways that aren't measured are stopped (`SIGSTOP`). Programs outside the benchmark used %s of a core meanwhile.\n",
		over(r.all(), func(f figures) float64 { return f.Others }).full("%.2f"))
	r.line("Latencies here are those of a closed loop, which sends less while answers are slow: they belong to the throughput beside them. *Connections* are the gateway's own to Redis or to the service.\n")
	r.picture(pictureThroughput)
	r.picture(pictureCPU)
	for _, t := range r.tables {
		r.rows(t)
	}
}

// longest are the figures of a row with the most rounds.
func (r *report) longest() []figures {
	var most []figures
	for _, f := range r.figures {
		if len(f) > len(most) {
			most = f
		}
	}
	return most
}

// all are the figures of all rows.
func (r *report) all() []figures {
	var list []figures
	for _, f := range r.figures {
		list = append(list, f...)
	}
	return list
}

func (r *report) rows(t table) {
	r.line("### %s\n", t.title)
	r.line("%s\n", t.about)
	base, peer := r.figures[t.base], r.figures[t.peer]
	added := func(a, b figures) float64 { return a.cpu() - b.cpu() }
	throughput := func(a, b figures) float64 { return a.RPS / b.RPS }
	var costs, ratios, notes [][]string
	for _, row := range t.rows {
		f := r.figures[row.name]
		get := func(pick func(figures) float64) spread { return over(f, pick) }
		costs = append(costs, []string{
			row.name,
			get(func(f figures) float64 { return f.RPS }).full("%.0f"),
			get(func(f figures) float64 { return f.P50 }).plain("%.2f"),
			get(func(f figures) float64 { return f.P99 }).full("%.2f"),
			get(func(f figures) float64 { return f.P999 }).plain("%.2f"),
			get(func(f figures) float64 { return f.Envoy }).plain("%.1f"),
			get(func(f figures) float64 { return f.Redis }).plain("%.1f"),
			get(func(f figures) float64 { return f.Service }).plain("%.1f"),
			unless(row.name == t.base, against(f, base, added)).full("%.1f"),
			get(func(f figures) float64 { return f.Commands }).plain("%.2f"),
			get(func(f figures) float64 { return f.Conns }).plain("%.0f"),
			get(func(f figures) float64 { return f.RSS }).plain("%.0f"),
			get(func(f figures) float64 { return f.RedisRSS }).plain("%.0f"),
		})
		ratios = append(ratios, []string{
			row.name,
			unless(row.name == t.base, against(f, base, throughput)).full("%.2f"),
			unless(row.name == t.peer, against(f, peer, throughput)).full("%.2f"),
			unless(row.name == t.peer, against(f, peer, func(a, b figures) float64 { return a.P99 / b.P99 })).full("%.2f"),
			unless(row.name == t.base || row.name == t.peer, r.addedRatio(row.name, t)).full("%.2f"),
		})
		if row.about != "" {
			notes = append(notes, []string{row.name, row.about})
		}
	}
	r.table(1, []string{"row", "req/s", "p50 ms", "p99 ms", "p99.9 ms", "Envoy us", "Redis us", "service us", "added us", "Redis commands", "connections", "Envoy MB", "Redis MB"}, costs)
	r.line("Ratios, each of two figures of one round:\n")
	r.table(1, []string{"row", "req/s ÷ " + t.base, "req/s ÷ " + t.peer, "p99 ÷ " + t.peer, "added ÷ " + t.peer}, ratios)
	for _, n := range notes {
		r.line("- **%s**: %s.", n[0], n[1])
	}
	for _, n := range t.missing {
		r.line("- **%s: NOT AVAILABLE**: the configuration refuses it: %s.", n.row, n.why)
	}
	r.line("")
}

// addedRatio is a row's added CPU as a part of what the peer adds, a round at a
// time.
func (r *report) addedRatio(name string, t table) spread {
	row, base, peer := r.figures[name], r.figures[t.base], r.figures[t.peer]
	var list []float64
	for i := range min(len(row), len(base), len(peer)) {
		if whole := peer[i].cpu() - base[i].cpu(); whole > 0 {
			list = append(list, (row[i].cpu()-base[i].cpu())/whole)
		}
	}
	return spreadOf(list)
}

// unless leaves out a figure that says nothing: a row compared with itself.
func unless(same bool, s spread) spread {
	if same {
		return spread{}
	}
	return s
}
