package plugin

import (
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/link"
	"sluice/redisproto"
)

const (
	// leaseSlots is how many keys a worker has leases for at a time.
	leaseSlots = 512
	// leaseFrom is how many requests within a lease's time make a key hot: for
	// fewer, calls of their own are cheaper than a lease and its return.
	leaseFrom = 8
	// leaseTickMS is the tick while there are leases: so much later than a lease's
	// end the rest of it is returned.
	leaseTickMS = 20
)

// leases admit requests by what Redis was asked for in advance; see
// engine.Decision.Lease. One lease is for requests that ask for the same: all
// counters of such a request were charged together, so it is all or nothing as
// ever. Each worker has its own.
type leases struct {
	w     *worker
	slots []leaseSlot // nil where no limit has leases, and until one is needed
	on    bool
	live  int // grants that aren't used up or returned
}

// leaseSlot is what is known of requests that ask for the same.
type leaseSlot struct {
	alike     engine.Decision // asks for what the slot is about
	signature uint64
	used      bool
	// Requests that were not rejected from memory: in this span of a lease's time,
	// and in the one before.
	start       int64
	uses, prior int64
	most        int64 // the largest lease; halved by a refusal, doubled by a grant
	grants      []*grant
	asking      bool
	waiters     []*request // for the lease that is asked for
}

// grant is what one call took.
type grant struct {
	d      engine.Decision // as Redis answered it
	callID []byte
	n      int   // requests that it is for
	left   int   // of them, not here yet
	sent   int64 // steady
	ends   int64 // steady
}

// leaseStep is what became of a request.
type leaseStep uint8

const (
	leaseNone  leaseStep = iota // it asks Redis, as any
	leaseUsed                   // admitted
	leaseWaits                  // held until a lease is there
)

func newLeases(w *worker) leases {
	ls := leases{w: w}
	for _, l := range w.policy.Limits {
		ls.on = ls.on || l.Hot != nil && l.Hot.LeaseUS > 0 && l.Scope != config.ScopeGateway
	}
	return ls
}

// take decides a request by a lease, if there is one that it may use.
func (ls *leases) take(r *request, now int64) leaseStep {
	if !ls.on || !r.decision.Leasable() {
		return leaseNone
	}
	s := ls.slot(r, now)
	if s == nil {
		return leaseNone
	}
	s.count(now, r.decision.LeaseUS())
	if g := ls.current(s, now); g != nil {
		r.decision.Use(&g.d, g.n-g.left, g.n, now-g.sent)
		ls.spend(s, g)
		if !s.asking && s.low(now) {
			ls.ask(s, s.wanted(now), now)
		}
		return leaseUsed
	}
	if !s.asking && max(s.uses, s.prior) >= leaseFrom {
		ls.ask(s, s.wanted(now), now)
	}
	if !s.asking {
		return leaseNone
	}
	r.hold()
	s.waiters = append(s.waiters, r)
	return leaseWaits
}

// slot finds the place for requests like r; nil when others need it.
func (ls *leases) slot(r *request, now int64) *leaseSlot {
	if ls.slots == nil {
		ls.slots = make([]leaseSlot, leaseSlots)
	}
	sig := r.decision.Signature()
	s := &ls.slots[(sig^sig>>32)%leaseSlots]
	if s.used && s.signature == sig && s.alike.Alike(&r.decision) {
		return s
	}
	if s.used && (s.asking || len(s.grants) > 0 || now-s.start < 2*s.alike.LeaseUS()) {
		return nil
	}
	s.alike.Lease(&r.decision)
	*s = leaseSlot{alike: s.alike, signature: sig, used: true, start: now, most: s.alike.LeaseMost(), grants: s.grants[:0]}
	return s
}

// count notes one more request.
func (s *leaseSlot) count(now, span int64) {
	switch passed := now - s.start; {
	case passed >= 2*span:
		s.start, s.uses, s.prior = now, 0, 0
	case passed >= span:
		s.start, s.uses, s.prior = s.start+span, 0, s.uses
	}
	s.uses++
}

// wanted is for how many requests the next lease is to be: as many as come in its
// time, by what came in the last.
func (s *leaseSlot) wanted(now int64) int {
	span := s.alike.LeaseUS()
	n := max(s.prior, s.uses)
	if passed := now - s.start; passed > span/8 {
		n = max(n, min(s.uses*span/passed, 2*n))
	}
	return int(max(min(n, s.most, s.alike.LeaseMost()), 0))
}

// low reports whether what is left lasts for less than a quarter of a lease.
func (s *leaseSlot) low(now int64) bool {
	left, lasts := int64(0), int64(0)
	for _, g := range s.grants {
		left += int64(g.left)
		lasts = max(lasts, g.ends-now)
	}
	return left*4 <= max(s.uses, s.prior) || lasts < s.alike.LeaseUS()/4
}

// current is the grant that the next request uses; nil for none. What is over is
// returned.
func (ls *leases) current(s *leaseSlot, now int64) *grant {
	for len(s.grants) > 0 {
		g := s.grants[0]
		if now < g.ends {
			return g
		}
		ls.end(s, 0, now)
	}
	return nil
}

// spend takes one request's part out of a grant, the slot's first.
func (ls *leases) spend(s *leaseSlot, g *grant) {
	if g.left--; g.left == 0 {
		s.grants = append(s.grants[:0], s.grants[1:]...)
		ls.live--
	}
}

// end returns what is left of a slot's i-th grant.
func (ls *leases) end(s *leaseSlot, i int, now int64) {
	g := s.grants[i]
	s.grants = append(s.grants[:i], s.grants[i+1:]...)
	ls.live--
	if g.d.Return(g.left) == engine.Send {
		ls.giveBack(g, now)
	}
}

// tick returns what leases that are over have left.
func (ls *leases) tick(now int64) {
	if ls.live == 0 {
		return
	}
	for i := range ls.slots {
		s := &ls.slots[i]
		for k := len(s.grants) - 1; k >= 0; k-- {
			if now >= s.grants[k].ends {
				ls.end(s, k, now)
			}
		}
	}
}

// drop returns what all leases have left: other numbers hold now, or the worker
// ends.
func (ls *leases) drop(now int64) {
	for i := range ls.slots {
		s := &ls.slots[i]
		for k := len(s.grants) - 1; k >= 0; k-- {
			ls.end(s, k, now)
		}
	}
}

// ask makes the call for a lease for n requests.
func (ls *leases) ask(s *leaseSlot, n int, now int64) {
	w := ls.w
	l := w.laneOf(&s.alike)
	if n < 2 || l.breaker.IsOpen() {
		return
	}
	g := &grant{n: n, sent: now}
	g.d.Lease(&s.alike)
	g.callID = w.appendRequestID(nil)
	c := &leaseCall{ls: ls, s: s, g: g, lane: l}
	if c.send(now) == nil {
		s.asking = true
	}
}

// leaseCall is the call that takes a lease.
type leaseCall struct {
	ls    *leases
	s     *leaseSlot
	g     *grant
	lane  *lane
	again bool // a larger one was refused
}

func (c *leaseCall) send(now int64) error {
	w := c.ls.w
	if !c.lane.breaker.Allow() {
		return errOpen
	}
	c.g.sent = now
	if err := w.ask(now, c.lane, &c.g.d, c.g.callID, c.g.n, now+w.policy.Redis.TimeoutUS, c); err != nil {
		w.report(c.lane, now, engine.Unavailable)
		return err
	}
	w.tick(fastTickMS)
	return nil
}

// Done takes the reply. Requests that the lease has nothing for ask Redis.
func (c *leaseCall) Done(reply redisproto.Value, err error) {
	ls, s, g := c.ls, c.s, c.g
	w := ls.w
	now := w.host.Steady()
	waiters := append([]*request(nil), s.waiters...)
	defer w.recoverIn("lease", func() {
		s.asking, s.waiters = false, nil
		w.abandon(waiters)
	})
	if err != nil {
		// What it may have charged counts until its window has passed.
		w.report(c.lane, now, failure(err))
		c.finish(now, err)
		return
	}
	step, room := g.d.ReplyBatch(reply, g.n)
	w.report(c.lane, now, g.d.Failure)
	switch {
	case step == engine.Send: // the script was missing
		w.metrics.scriptLoads.add(1)
		if err := c.send(now); err != nil {
			c.finish(now, err)
		}
		return
	case g.d.Failure != engine.NoFailure:
	case g.d.Verdict.Outcome == engine.Admitted:
		g.left = g.n
		g.ends = g.sent + g.d.EndsIn()
		s.grants = append(s.grants, g)
		ls.live++
		if c.again {
			c.exhaust()
		} else {
			s.most = min(2*s.most, s.alike.LeaseMost())
		}
	default:
		s.most = max(int64(room), leaseFrom)
		if room > 0 && !c.again {
			c.again = true
			g.n = room
			g.d.Lease(&s.alike)
			g.callID = w.appendRequestID(g.callID[:0])
			if c.send(now) == nil {
				return
			}
		}
	}
	c.finish(now, nil)
}

// exhaust remembers that the lease took the last that was free.
func (c *leaseCall) exhaust() {
	var d engine.Decision
	d.Lease(&c.g.d)
	d.Verdict = c.g.d.Verdict
	if d.Exhaust() {
		d.Remember(&c.ls.w.memory, c.g.sent)
	}
}

// finish serves those who waited.
func (c *leaseCall) finish(now int64, err error) {
	ls, s := c.ls, c.s
	w := ls.w
	waiters := s.waiters
	s.asking, s.waiters = false, nil
	for len(waiters) > 0 {
		m := waiters[0]
		if m.phase != held { // gone, and charged nothing
			waiters = waiters[1:]
			if m.alone() {
				m.settle()
			}
			m.drop()
			continue
		}
		g := ls.current(s, now)
		if g == nil {
			break
		}
		waiters = waiters[1:]
		m.decision.Use(&g.d, g.n-g.left, g.n, now-g.sent)
		ls.spend(s, g)
		m.deliver(now, decided)
	}
	w.dispatch(waiters, now, err)
	if ls.live > 0 && w.tickMS > leaseTickMS {
		w.tick(leaseTickMS)
	}
}

// giveBack makes the call that returns a grant's rest, which nobody waits for.
func (ls *leases) giveBack(g *grant, now int64) {
	w := ls.w
	l := w.laneOf(&g.d)
	if l.breaker.IsOpen() {
		w.metrics.settleErrors.add(1)
		return
	}
	if w.ask(now, l, &g.d, g.callID, 1, now+w.policy.Redis.TimeoutUS, &leaseReturn{ls, g}) != nil {
		w.metrics.settleErrors.add(1)
		return
	}
	w.tick(fastTickMS)
}

// leaseReturn is that call. One that isn't confirmed isn't repeated: what it would
// have returned counts until its window has passed.
type leaseReturn struct {
	ls *leases
	g  *grant
}

// Done takes the reply.
func (c *leaseReturn) Done(reply redisproto.Value, err error) {
	w := c.ls.w
	defer w.recoverIn("lease", nil)
	if err != nil {
		w.metrics.settleErrors.add(1)
		return
	}
	switch step := c.g.d.Reply(reply); {
	case step == engine.Send:
		w.metrics.scriptLoads.add(1)
		c.ls.giveBack(c.g, w.host.Steady())
	case c.g.d.Failure != engine.NoFailure:
		w.metrics.settleErrors.add(1)
	}
}

// failure is what a link's error means.
func failure(err error) engine.Failure {
	switch err {
	case errOpen:
		return engine.BreakerOpen
	case link.ErrLost:
		return engine.Lost
	case link.ErrTimeout:
		return engine.TimedOut
	case link.ErrProtocol:
		return engine.BadReply
	}
	if _, refused := err.(*link.HandshakeError); refused {
		return engine.AuthRefused
	}
	return engine.Unavailable
}
