package plugin

import (
	"strings"
	"testing"

	"sluice/internal/engine"
)

// breakerLines are the lines about breakers, in short.
func (r *rig) breakerLines() string {
	var b strings.Builder
	for _, l := range r.host.Logs {
		switch {
		case strings.Contains(l.Message, "failed several times in a row"):
			b.WriteByte('o')
		case strings.Contains(l.Message, "answers again"):
			b.WriteByte('c')
		}
	}
	return b.String()
}

// open opens the breaker of a lane; shut closes it.
func (r *rig) open(l *lane) {
	for range 5 {
		r.w.report(l, r.host.Steady(), engine.TimedOut)
	}
}

func (r *rig) shut(l *lane) {
	r.t.Helper()
	later := r.host.Steady() + 2_000_000
	if !l.breaker.ProbeDue(later) {
		r.t.Fatal("no probe is due")
	}
	l.breaker.Probed(later)
	if !l.breaker.Allow() {
		r.t.Fatal("no trial")
	}
	r.w.report(l, r.host.Steady(), engine.NoFailure)
}

// However often Redis comes and goes, lines are few, and the last one is true.
func TestFlappingRedisLogsLittle(t *testing.T) {
	for name, config := range map[string]string{
		"single":  `{"limits":[{"name":"a","rate":"5/s"}]}`,
		"cluster": `{"redis":{"topology":"cluster"},"limits":[{"name":"a","rate":"5/s"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, config)
			r.request(get("/")...)
			last := &r.w.lanes[len(r.w.lanes)-1]
			for range 100 { // 20 s
				r.open(last)
				r.host.Advance(100_000)
				r.shut(last)
				r.host.Advance(100_000)
			}
			if got := r.breakerLines(); got != "ococococ" {
				t.Errorf("20 s of changes write %q", got)
			}
			// What is held back is said later, if it still holds.
			r.open(last)
			before := r.breakerLines()
			for range 120 {
				r.tick(50)
			}
			if got := r.breakerLines(); got != before+"o" && got != before || !strings.HasSuffix(got, "o") {
				t.Errorf("after it stays open: %q, before %q", got, before)
			}
			if !last.breaker.IsOpen() {
				t.Fatal("the breaker closed by itself")
			}
			r.shut(last)
			for range 120 {
				r.tick(50)
			}
			if got := r.breakerLines(); !strings.HasSuffix(got, "oc") {
				t.Errorf("after it stays closed: %q", got)
			}
			if n := r.host.Metrics.Value("sluice_breaker_open"); n != 0 {
				t.Errorf("the gauge is %d", n)
			}
		})
	}
}
