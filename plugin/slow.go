package plugin

import (
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/internal/slot"
	"sluice/redisproto"
)

// slowProbeUS is the time between two calls that show how quick Redis is, while
// this gateway decides by itself.
const slowProbeUS = 50_000

// slowness measures round trips for limits with hot.local, for each of a worker's
// lanes: while Redis is slow, the gateway's own share decides.
type slowness struct {
	w      *worker
	limits []*config.Limit // those with hot.local
	of     []int           // by Limit.Index: its place in limits, or -1
	lanes  []slowLane
	local  int // of limits and lanes, those that Redis is too slow for
	gauge  metric
}

// slowLane is one lane's.
type slowLane struct {
	state   []engine.Slow   // by place in limits
	tripped int             // of them
	probe   engine.Decision // asks about a counter that was decided locally last
	known   bool            // probe is one
	out     bool            // a probe is out
	nextAt  int64           // steady: of the next probe
}

// newSlowness returns nil where no limit has hot.local.
func newSlowness(w *worker) *slowness {
	s := &slowness{w: w, of: make([]int, len(w.policy.Limits))}
	for i, l := range w.policy.Limits {
		s.of[i] = -1
		if l.Hot != nil && l.Hot.Local != nil {
			s.of[i] = len(s.limits)
			s.limits = append(s.limits, l)
		}
	}
	gauge := define(w.host, host.Gauge, "sluice_hot_local") // its zero shows in any case
	if len(s.limits) == 0 {
		return nil
	}
	s.lanes = make([]slowLane, len(w.lanes))
	for i := range s.lanes {
		s.lanes[i].state = make([]engine.Slow, len(s.limits))
	}
	s.gauge = gauge
	return s
}

// isLocal reports whether the gateway decides a limit for counters of a hash slot.
func (s *slowness) isLocal(limit int, hashSlot uint16) bool {
	k := s.of[limit]
	return k >= 0 && s.local > 0 && s.lanes[s.laneIndex(hashSlot)].state[k].Tripped()
}

func (s *slowness) laneIndex(hashSlot uint16) int { return int(hashSlot) * len(s.lanes) / slot.Count }

// note takes the round trip of a call over a lane, that of one without a reply
// included.
func (s *slowness) note(l *lane, now, sent int64) {
	if s == nil {
		return
	}
	for i := range s.w.lanes {
		if &s.w.lanes[i] == l {
			s.noteLane(i, now, now-sent)
		}
	}
}

func (s *slowness) noteLane(i int, now, rtt int64) {
	lane := &s.lanes[i]
	for k, l := range s.limits {
		if !lane.state[k].Note(l.Hot.Local, now, rtt) {
			continue
		}
		is := lane.state[k].Tripped()
		n := 1
		if !is {
			n = -1
		}
		lane.tripped += n
		s.local += n
		s.gauge.add(int64(n))
		s.tell(now, l, is)
	}
}

// tell logs a change. A cluster's lanes change one by one.
func (s *slowness) tell(now int64, l *config.Limit, is bool) {
	w := s.w
	text := "sluice: limit " + l.Name + ": Redis is quick again and decides"
	kind := "quick " + l.Name
	if is {
		text = "sluice: limit " + l.Name + ": Redis is slow: this gateway decides by its own share until Redis is quick again"
		kind = "slow " + l.Name
	}
	if len(w.lanes) == 1 || w.logs.allow(now, kind) {
		w.host.Log(host.Info, text)
	}
}

// decided notes what was decided locally, for the probe to ask about.
func (s *slowness) decided(d *engine.Decision) {
	if s == nil || s.local == 0 {
		return
	}
	for i := range d.Plan.Charges {
		if c := &d.Plan.Charges[i]; c.Local {
			lane := &s.lanes[s.laneIndex(c.Slot())]
			if !lane.known {
				lane.probe.Probe(d, i)
				lane.known = true
				s.w.tick(min(s.w.tickMS, probeTickMS))
			}
		}
	}
}

// tick sends the probes that are due.
func (s *slowness) tick(now int64) {
	if s == nil || s.local == 0 {
		return
	}
	w := s.w
	for i := range s.lanes {
		lane, l := &s.lanes[i], &w.lanes[i]
		if lane.tripped == 0 || !lane.known || lane.out || now < lane.nextAt || l.breaker.IsOpen() {
			continue
		}
		lane.nextAt = now + slowProbeUS
		w.command = lane.probe.AppendCommand(w.command[:0], w.appendRequestID(nil), w.now())
		if l.pipe.Send(now, w.command, now+w.policy.Redis.TimeoutUS, slowProbe{s, i, now}) == nil {
			lane.out = true
			w.tick(fastTickMS)
		}
	}
}

// busy reports whether probes are due from time to time.
func (s *slowness) busy() bool { return s != nil && s.local > 0 }

// close takes the worker's part out of the gauge, which is one for all workers.
func (s *slowness) close() {
	if s != nil {
		s.gauge.add(-int64(s.local))
	}
}

// slowProbe is a probe's continuation.
type slowProbe struct {
	s    *slowness
	lane int
	sent int64
}

// Done is link.Call. An error reply took a round trip too, but Redis doesn't
// decide then.
func (p slowProbe) Done(reply redisproto.Value, err error) {
	s := p.s
	w := s.w
	lane := &s.lanes[p.lane]
	lane.out = false
	defer w.recoverIn("probe", nil)
	now := w.host.Steady()
	if err != nil || reply.Kind == redisproto.Error && reply.ErrorCode() != redisproto.CodeNoScript {
		for k := range lane.state {
			lane.state[k].Lost()
		}
		return
	}
	if reply.Kind == redisproto.Error {
		lane.probe.Reply(reply) // the next one brings the script
	}
	s.noteLane(p.lane, now, now-p.sent)
	if lane.tripped == 0 {
		lane.known = false
	}
}
