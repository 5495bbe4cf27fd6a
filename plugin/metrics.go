package plugin

import (
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/host"
)

// metric is one counter, gauge or histogram of the proxy's.
type metric struct {
	h   host.Host
	id  uint32
	ok  bool
	sum int64 // counted here and not yet told the proxy
}

func define(h host.Host, t host.MetricType, name string) metric {
	id, s := h.DefineMetric(t, name)
	return metric{h: h, id: id, ok: s == host.OK}
}

func (m *metric) add(n int64) {
	if m.ok && n != 0 {
		m.h.IncrementMetric(m.id, n)
	}
}

func (m *metric) record(v uint64) {
	if m.ok {
		m.h.RecordMetric(m.id, v)
	}
}

// outcomes are the values of the decisions' label, in the order of a limit's
// row of counters.
var outcomes = [...]string{"admitted", "rejected", "shadow_rejected", "tagged", "failed_open", "failed_closed"}

const (
	countAdmitted = iota
	countRejected
	countShadowRejected
	countTagged
	countFailedOpen
	countFailedClosed
)

// metrics are everything that the plugin counts. All are defined when the
// configuration loads, so that zeros show before the first request. Labels are
// written as k=.=v;. in front of a name; the proxy's stats_tags take them out.
type metrics struct {
	changed []*metric // that have a sum
	flushed int64     // when the sums were told last, steady microseconds

	decisions    [][len(outcomes)]metric // by Limit.Index
	mode         [len(modes)]metric
	errors       [engine.NumFailures]metric // by engine.Failure
	redisUS      metric
	reconnects   metric
	scriptLoads  metric
	panics       metric
	configErrors metric
	breakerOpen  metric
	build        metric // 1, of this version

	oddCosts       metric // costs that were no whole numbers
	settleErrors   metric // corrections that Redis didn't confirm
	reconciled     metric // units admitted without Redis and charged there since
	overrides      metric // a gauge: run-time overrides that hold
	overrideErrors metric // entries that were skipped, and polls that Redis refused
	clockSkew      metric // a gauge: this gateway's clock and Redis's, ms apart

	clientUnknown metric // requests whose client address was needed and unknown
}

// sumUS is how long what every request counts is summed up: each call to
// the proxy costs as much as some of the decision's steps.
const sumUS = 4000

// sum adds 1 to a counter that the proxy is told of by a later flush.
func (m *metrics) sum(c *metric) {
	if c.sum == 0 {
		m.changed = append(m.changed, c)
	}
	c.sum++
}

// flush tells the proxy what was summed up.
func (m *metrics) flush(now int64) {
	if len(m.changed) == 0 {
		return
	}
	m.flushed = now
	for len(m.changed) > 0 {
		c := m.changed[len(m.changed)-1]
		m.changed = m.changed[:len(m.changed)-1]
		n := c.sum
		c.sum = 0
		c.add(n)
	}
}

// flushDue flushes what waited for long enough: where requests are rare, at once.
// A fast tick sees to what is left after a burst.
func (w *worker) flushDue() {
	m := &w.metrics
	if w.vm.now-m.flushed >= sumUS {
		m.flush(w.vm.now)
	} else {
		w.tick(fastTickMS)
	}
}

// defineGlobal defines what needs no configuration, so that errors in one count.
func (m *metrics) defineGlobal(h host.Host) {
	m.panics = define(h, host.Counter, "sluice_panics_total")
	m.configErrors = define(h, host.Counter, "sluice_config_errors_total")
}

func (m *metrics) define(h host.Host, p *config.Policy) {
	m.decisions = make([][len(outcomes)]metric, len(p.Limits))
	for i, l := range p.Limits {
		for j, o := range outcomes {
			m.decisions[i][j] = define(h, host.Counter, "limit=.="+l.Name+";.;outcome=.="+o+";.;sluice_decisions_total")
		}
	}
	for i, name := range modes {
		m.mode[i] = define(h, host.Counter, "mode=.="+name+";.;sluice_mode_total")
	}
	for f := engine.NoFailure + 1; int(f) < engine.NumFailures; f++ {
		m.errors[f] = define(h, host.Counter, "kind=.="+f.String()+";.;sluice_redis_errors_total")
	}
	m.redisUS = define(h, host.Histogram, "sluice_redis_us")
	m.reconnects = define(h, host.Counter, "sluice_pipe_reconnects_total")
	m.scriptLoads = define(h, host.Counter, "sluice_script_loads_total")
	m.breakerOpen = define(h, host.Gauge, "sluice_breaker_open")
	m.oddCosts = define(h, host.Counter, "sluice_odd_costs_total")
	m.settleErrors = define(h, host.Counter, "sluice_settle_errors_total")
	m.reconciled = define(h, host.Counter, "sluice_reconciled_units_total")
	m.overrides = define(h, host.Gauge, "sluice_overrides")
	m.overrideErrors = define(h, host.Counter, "sluice_override_errors_total")
	m.clockSkew = define(h, host.Gauge, "sluice_clock_skew_ms")
	m.clientUnknown = define(h, host.Counter, "sluice_client_unknown_total")
}

// count counts one decision: a row for each limit that it met.
func (m *metrics) count(d *engine.Decision, mode int) {
	if mode != modeNone {
		m.sum(&m.mode[mode])
	}
	switch d.Verdict.Mode {
	case engine.ModeMemory, engine.ModeOverride:
		// Only the limit that rejects had a word.
		m.sum(&m.decisions[d.Plan.Charges[d.Verdict.Closest].Limit.Index][countRejected])
		return
	}
	if d.Failure != engine.NoFailure {
		m.errors[d.Failure].add(1)
	}
	m.oddCosts.add(int64(d.Plan.OddCosts))
	if l := d.Plan.Missing; l != nil {
		m.sum(&m.decisions[l.Index][countRejected]) // it refused the request unasked
		return
	}
	last := -1
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if c.Limit.Index == last {
			continue // several windows of one limit count once
		}
		last = c.Limit.Index
		if o := rowOutcome(d, last); o >= 0 {
			m.sum(&m.decisions[last][o])
		}
	}
}

// rowOutcome is what a decision means for one limit: a limit with room counts
// a request that another one rejected as admitted by itself, and one that nobody
// was asked about doesn't count it: -1.
func rowOutcome(d *engine.Decision, limit int) int {
	switch d.Verdict.Outcome {
	case engine.FailedOpen:
		return countFailedOpen
	case engine.FailedClosed:
		return countFailedClosed
	}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if c.Limit.Index == limit && c.Undecided {
			if d.Divided() && d.Verdict.Outcome == engine.Rejected {
				return -1
			}
			return countFailedOpen
		}
		if c.Limit.Index != limit || c.Result.Admitted {
			continue
		}
		switch {
		case c.Tags():
			return countTagged
		case c.Op.Votes():
			return countRejected
		}
		return countShadowRejected
	}
	return countAdmitted
}
