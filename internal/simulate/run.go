// Package simulate runs made-up or logged requests against a configuration and
// tells what its limits would have done: the plugin's own plans and scripts, on
// a clock that follows the requests.
package simulate

import (
	"container/heap"
	"context"
	"strconv"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/source"
)

// pending is one call on its way: a decision, or the correction of one.
type pending struct {
	dec   engine.Decision
	at    int64 // the time that it goes by
	seq   int64
	stats []*keyStat // of each charge; nil for a penalty's
	keys  []uint64   // hashes of the charges' keys, when it settles

	settles, settling bool
	ready             bool // decided, and waits for its end
	admittedAt        int64
	end               ending
	err               string
}

// decider carries out the calls of pendings in the order in which they come, and
// appends them to done as they are decided.
type decider interface {
	// decide takes a call. It may keep it for a while.
	decide(p *pending) error
	// flush waits until every call is decided.
	flush() error
	// take returns what was decided since it was called last.
	take() []*pending
	close() error
}

// runner leads the requests through an engine.
type runner struct {
	ctx     context.Context
	engine  *engine.Engine
	decider decider
	account *account
	view    source.View
	costs   []*config.SettleCost

	free []*pending
	seq  int64
	last int64
	ends ends       // of requests that settle, by time
	due  []*pending // whose end has come, in order
	owed map[uint64]int
	out  int // calls that aren't decided
}

// run leads an input through an engine.
func run(ctx context.Context, in Input, e *engine.Engine, d decider, a *account, progress func(n int64)) error {
	r := &runner{ctx: ctx, engine: e, decider: d, account: a, owed: map[uint64]int{}}
	for _, l := range e.Policy().Limits {
		if l.Settle != nil && l.Settle.Cost != nil {
			r.costs = append(r.costs, l.Settle.Cost)
		}
	}
	n := int64(0)
	err := in.Each(func(ev *Event) error {
		if n++; n&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(n)
			}
		}
		return r.event(ev)
	})
	if err != nil {
		return err
	}
	if progress != nil {
		progress(n)
	}
	return r.finish()
}

func (r *runner) get() *pending {
	if n := len(r.free); n > 0 {
		p := r.free[n-1]
		r.free = r.free[:n-1]
		return p
	}
	return new(pending)
}

func (r *runner) put(p *pending) {
	p.dec.Clear()
	*p = pending{dec: p.dec, stats: p.stats[:0], keys: p.keys[:0]}
	r.free = append(r.free, p)
}

// event is a request's arrival.
func (r *runner) event(ev *Event) error {
	// Spread lines may come a little out of order.
	at := max(ev.At, r.last)
	r.last = at
	p := r.get()
	r.seq++
	p.at, p.seq = at, r.seq
	r.view.Reset(ev.request, &r.engine.Policy().Source)
	if p.dec.Start(r.engine, &r.view) == engine.Decide {
		r.account.undecided(p)
		r.put(p)
		return nil
	}
	r.account.arrived(p)
	if p.dec.Plan.Settles {
		p.settles = true
		p.end = ev.end
		p.end.at = max(ev.end.at, at)
		p.end.stated(r.costs)
		p.end.record = nil
		for i := range p.dec.Plan.Charges {
			p.keys = append(p.keys, hash(p.dec.Plan.Key(i)))
		}
	}
	if err := r.before(p); err != nil {
		return err
	}
	if p.settles {
		heap.Push(&r.ends, p)
	}
	return r.send(p)
}

// before sees to it that what ended before p, and counts where p counts, was
// corrected.
func (r *runner) before(p *pending) error {
	for len(r.ends) > 0 && r.ends[0].end.at <= p.at {
		e := heap.Pop(&r.ends).(*pending)
		r.due = append(r.due, e)
		for _, k := range e.keys {
			r.owed[k]++
		}
	}
	if len(r.due) == 0 {
		return nil
	}
	if err := r.settle(); err != nil || len(r.due) == 0 {
		return err
	}
	for i := range p.dec.Plan.Charges {
		if r.owed[hash(p.dec.Plan.Key(i))] > 0 {
			return r.drain()
		}
	}
	return nil
}

// send asks for p's decision.
func (r *runner) send(p *pending) error {
	r.out++
	if err := r.decider.decide(p); err != nil {
		return err
	}
	return r.process()
}

// process takes what was decided.
func (r *runner) process() error {
	for {
		done := r.decider.take()
		if len(done) == 0 {
			return nil
		}
		for _, p := range done {
			r.out--
			if p.err != "" {
				return DecideError(p.err)
			}
			if p.settling {
				r.account.settled(p)
				r.put(p)
				continue
			}
			r.account.decided(p)
			if !p.settles {
				r.put(p)
				continue
			}
			p.ready = true
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
}

// settle corrects what has ended, as far as it is decided, in the order of the
// ends.
func (r *runner) settle() error {
	for len(r.due) > 0 && r.due[0].ready {
		p := r.due[0]
		r.due = r.due[1:]
		for _, k := range p.keys {
			if r.owed[k]--; r.owed[k] == 0 {
				delete(r.owed, k)
			}
		}
		p.admittedAt = p.at
		if p.dec.Settle(&p.end) != engine.Send {
			r.put(p)
			continue
		}
		p.settling, p.ready = true, false
		p.at = p.end.at
		r.account.again(p)
		r.out++
		if err := r.decider.decide(p); err != nil {
			return err
		}
	}
	return nil
}

// drain waits until all is decided, and what has ended is corrected.
func (r *runner) drain() error {
	for r.out > 0 {
		if err := r.decider.flush(); err != nil {
			return err
		}
		if err := r.process(); err != nil {
			return err
		}
	}
	return nil
}

// finish ends all requests.
func (r *runner) finish() error {
	for len(r.ends) > 0 {
		r.due = append(r.due, heap.Pop(&r.ends).(*pending))
		for _, k := range r.due[len(r.due)-1].keys {
			r.owed[k]++
		}
	}
	if err := r.drain(); err != nil {
		return err
	}
	if err := r.settle(); err != nil {
		return err
	}
	return r.drain()
}

// DecideError is why a decision couldn't be made.
type DecideError string

func (e DecideError) Error() string { return string(e) }

// ends is a heap of requests by their end.
type ends []*pending

func (h ends) Len() int { return len(h) }
func (h ends) Less(i, j int) bool {
	return h[i].end.at < h[j].end.at || h[i].end.at == h[j].end.at && h[i].seq < h[j].seq
}
func (h ends) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)   { *h = append(*h, x.(*pending)) }
func (h *ends) Pop() any {
	old := *h
	p := old[len(old)-1]
	*h = old[:len(old)-1]
	return p
}

func hash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// requestID is the name that a request goes by in a script.
func (p *pending) requestID(dst []byte) []byte { return strconv.AppendInt(dst, p.seq, 36) }
