package limit

import (
	"errors"
	"sort"
	"strconv"
)

// Concurrency bounds how many units are held at once. A holder that is never
// released counts for HoldMS.
var Concurrency = &Algorithm{
	Name:    "concurrency",
	Script:  "concurrency",
	Suffix:  "hold1",
	Code:    8,
	share:   slotShare,
	Options: []string{"max", "max_hold"},
	Args: func(dst []int64, p *Params, _ Micros) []int64 {
		return append(dst, p.Limit, p.HoldMS)
	},
	NArgs: 2,
	Holds: true,
	New:   func(p Params) Model { return NewHolders(p) },
	Check: func(p *Params) error {
		switch {
		case p.Limit < 0 || p.Limit > maxExtra:
			return errors.New("max must be from 0 to 2^52")
		case p.HoldMS < 1 || p.HoldMS > maxWindowMS:
			return errors.New("max_hold must be from 1 ms to 2^41 ms (69 years)")
		}
		return nil
	},
	Doc: "never more than N in flight; a holder that crashed stops counting after max_hold",
}

// Holders is the model of concurrency. Its holders have ids; Take makes one up,
// and Give releases the youngest.
type Holders struct {
	p    Params
	held []holder // by till, then by id
	made int64    // ids made up so far
}

type holder struct {
	id   string
	till int64 // ms
	n    int64
}

// NewHolders makes a counter without holders.
func NewHolders(p Params) *Holders { return &Holders{p: p} }

// open drops the holders whose time is over, and says whether others were moved:
// nobody holds for longer than from now on, as after a step of the clock.
func (l *Holders) open(now Micros) (held []holder, total int64, moved bool) {
	ms := floorDiv(now, 1000)
	last := ceilDiv(now, 1000) + l.p.HoldMS
	for _, h := range l.held {
		if h.till <= ms {
			continue
		}
		if h.till > last+skewMS {
			h.till, moved = last, true
		}
		held = append(held, h)
		total += h.n
	}
	return held, total, moved
}

func (l *Holders) store(held []holder) {
	sort.Stable(byTill(held))
	l.held = held
}

type byTill []holder

func (l byTill) Len() int           { return len(l) }
func (l byTill) Less(i, j int) bool { return l[i].till < l[j].till }
func (l byTill) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

func (l *Holders) decide(now Micros, held []holder, total, cost int64) Decision {
	return decideLog(l.p.Limit, total, cost, func(units int64) int64 {
		for _, h := range held {
			if units -= h.n; units <= 0 {
				return h.till - floorDiv(now, 1000)
			}
		}
		return 0
	})
}

func (l *Holders) find(held []holder, id string, cost int64) int {
	for i, h := range held {
		if h.id == id && h.n == cost {
			return i
		}
	}
	return -1
}

// LookAs decides for a request by its id: what that holds already isn't needed
// again.
func (l *Holders) LookAs(now Micros, id string, cost int64) Decision {
	held, total, moved := l.open(now)
	if moved {
		l.store(held)
		held = l.held
	}
	d := l.decide(now, held, total, cost)
	if !d.Admitted && cost > 0 && cost <= l.p.Limit && total <= l.p.Limit && l.find(held, id, cost) >= 0 {
		d.Admitted, d.RetryAfterMS = true, 0
	}
	return d
}

// Hold makes the request a holder, once, and renews it.
func (l *Holders) Hold(now Micros, id string, cost int64) Decision {
	before := l.LookAs(now, id, cost)
	held, total, _ := l.open(now)
	n := max(min(cost, maxExtra-(total-int64(len(held)))), 1)
	if i := l.find(held, id, n); i >= 0 {
		held = append(held[:i], held[i+1:]...)
		total -= n
	}
	held = append(held, holder{id: id, till: ceilDiv(now, 1000) + l.p.HoldMS, n: n})
	l.store(held)
	return after(before, l.decide(now, l.held, total+n, cost))
}

// Release ends what the request holds at that cost, if anything.
func (l *Holders) Release(now Micros, id string, cost int64) Decision {
	held, total, moved := l.open(now)
	i := l.find(held, id, cost)
	if i >= 0 {
		held = append(held[:i], held[i+1:]...)
		total -= cost
	}
	if i >= 0 || moved {
		l.store(held)
		held = l.held
	}
	return l.decide(now, held, total, 0).admitted()
}

// Look decides for a request that holds nothing yet.
func (l *Holders) Look(now Micros, cost int64) Decision { return l.LookAs(now, "", cost) }

// Take adds a holder.
func (l *Holders) Take(now Micros, cost int64) Decision {
	l.made++
	return l.Hold(now, "#"+strconv.FormatInt(l.made, 10), cost)
}

// Give releases n units, of the youngest holders first.
func (l *Holders) Give(now Micros, n int64) Decision {
	held, total, moved := l.open(now)
	if n = min(n, total); n > 0 || moved {
		total -= n
		for k := len(held) - 1; n > 0; k-- {
			if n < held[k].n {
				held[k].n -= n
				break
			}
			n -= held[k].n
			held = held[:k]
		}
		l.store(held)
	}
	return l.decide(now, held, total, 0).admitted()
}

// Refuse records nothing: who was refused holds no slot.
func (l *Holders) Refuse(now Micros, cost int64) Decision { return l.Look(now, cost) }

// Change replaces the numbers; holders stay, though none longer than HoldMS.
func (l *Holders) Change(p Params) { l.p = p }
