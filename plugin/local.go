package plugin

import (
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/internal/local"
	"sluice/redisproto"
)

const (
	// reconcileEveryUS is how often a worker looks for what was admitted locally
	// and isn't counted in Redis yet.
	reconcileEveryUS = 250_000
	// reconcilePages is how much of the store it looks at each time: a page costs
	// a host call. Once a worker has seen all that others left behind when it
	// started, it looks only at what it wrote itself.
	reconcilePages = 1024
)

// fallback is the gateway's own counting: of limits of its own, and of its share
// of the others while Redis can't answer. nil where no limit asks for it.
type fallback struct {
	w      *worker
	shares bool // of limits that are Redis's otherwise
	store  *local.Store
	census *census
	nextAt int64 // steady: when tick has something to do
	cs     []local.Counter
	places []int           // in the plan, of cs
	later  []local.Pending // whose lane's breaker is open
}

func newFallback(w *worker) *fallback {
	shares, own := false, false
	for _, l := range w.policy.Limits {
		if l.Scope == config.ScopeGateway {
			own = true
		} else if l.OnError == config.OnErrorLocal {
			shares = true
		}
		if l.Hot != nil && l.Hot.Local != nil {
			shares = true
		}
	}
	if !shares && !own {
		return nil
	}
	c := newCensus(w)
	return &fallback{w: w, shares: shares, census: c, store: local.New(w.host, local.Options{Space: c.scope})}
}

// counters lists the plan's counters that are counted locally.
func (f *fallback) counters(p *engine.Plan) []local.Counter {
	f.cs, f.places = f.cs[:0], f.places[:0]
	for i := range p.Charges {
		c := &p.Charges[i]
		own := c.Limit.Scope == config.ScopeGateway
		if !c.Here() && c.Limit.OnError != config.OnErrorLocal {
			continue
		}
		lc := local.Counter{
			Key: p.Key(i), Algorithm: c.Algorithm(), Params: c.Params(), Gateways: 1,
			Cost: c.Cost, Votes: c.Op.Votes(), CountRejected: c.Limit.CountRejected && c.Guards == 0,
		}
		if !own {
			lc.Gateways = f.census.gateways()
			lc.Account = c.Guards == 0 && !c.Limit.Algorithm.Holds
		}
		if c.Guards > 0 {
			lc.Params = c.PenaltyParams()
			for k, at := range f.places {
				if at == c.Guards-1 {
					lc.Guards = k + 1
				}
			}
		}
		f.cs = append(f.cs, lc)
		f.places = append(f.places, i)
	}
	return f.cs
}

// decide decides a request, or a part of it, that Redis didn't. It returns the
// time, microseconds since the epoch.
func (f *fallback) decide(d *engine.Decision) int64 {
	now := f.w.host.Now()
	cs := f.counters(&d.Plan)
	admitted := f.store.Decide(now, cs)
	for k := range cs {
		d.Plan.Charges[f.places[k]].Result = cs[k].Decision
	}
	d.DecidedLocally(admitted, now)
	return now
}

// settle corrects what the gateway's own counters charged: the plan holds the
// corrections. since is when they charged it.
func (f *fallback) settle(d *engine.Decision, since int64) {
	now := f.w.host.Now()
	for k, lc := range f.counters(&d.Plan) {
		c := &d.Plan.Charges[f.places[k]]
		lc.Was = c.Result.Current
		if c.Op == engine.OpCharge {
			f.store.Charge(now, &lc)
		} else {
			f.store.Give(now, since, &lc)
		}
	}
}

// tick counts the gateways, and charges in Redis what was admitted without it.
func (f *fallback) tick(now int64) {
	w := f.w
	if !f.shares || now < f.nextAt || w.seq == 0 { // the pipe opens with a worker's first request
		return
	}
	f.nextAt = now + reconcileEveryUS
	f.census.tick(now)
	if len(w.lanes) == 1 && w.breaker.IsOpen() {
		return
	}
	f.store.TakePending(w.host.Now(), reconcilePages, func(p *local.Pending) bool {
		l := w.laneTo(p.Key)
		if l.breaker.IsOpen() {
			f.later = append(f.later, p.Copy())
			return true
		}
		id := w.appendRequestID(nil)
		cmd := w.engine.AppendCharge(nil, p.Algorithm, p.Key, p.Args, p.Units, id, w.now(), false)
		err := l.pipe.Send(now, cmd, now+w.policy.Redis.TimeoutUS, &reconciliation{w: w, p: p.Copy()})
		if err != nil {
			return false
		}
		w.tick(fastTickMS)
		return true
	})
	for i := range f.later {
		f.store.PutBack(w.host.Now(), &f.later[i])
	}
	f.later = f.later[:0]
}

// reconciliation is the call that charges one counter.
type reconciliation struct {
	w    *worker
	p    local.Pending
	full bool
}

// Done takes the reply. A charge that surely wasn't made goes back to its
// account; one that may have been made doesn't, or it would be made twice.
func (r *reconciliation) Done(reply redisproto.Value, err error) {
	w := r.w
	defer w.recoverIn("reconciliation", nil)
	switch {
	case err == nil && reply.Kind != redisproto.Error:
		w.metrics.reconciled.add(r.p.Units)
	case err == nil && reply.ErrorCode() == redisproto.CodeNoScript && !r.full:
		r.full = true
		now := w.host.Steady()
		cmd := w.engine.AppendCharge(nil, r.p.Algorithm, r.p.Key, r.p.Args, r.p.Units, w.appendRequestID(nil), w.now(), true)
		if w.laneTo(r.p.Key).pipe.Send(now, cmd, now+w.policy.Redis.TimeoutUS, r) != nil {
			w.fallback.store.PutBack(w.host.Now(), &r.p)
		}
	case err == nil:
		w.fallback.store.PutBack(w.host.Now(), &r.p)
		w.host.Log(host.Debug, "sluice: a charge was refused and is tried again")
	default:
		w.metrics.settleErrors.add(1)
	}
}
