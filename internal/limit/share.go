package limit

import "math/bits"

// Share is one gateway's part of a counter, for the time that the gateway counts
// by itself: of a limit of N that g gateways share, each admits ⌊N/g⌋. Buckets
// keep the exact rate, N/g per window, and a capacity of ⌊burst/g⌋, at least 1.
//
// A cost above the part but not above the whole limit is admitted when nothing
// is counted, and then nothing else is for window × cost × g/N. That is the rule
// for parts below 1, too: one unit per window × g/N. A slot of a concurrency
// limit has no rate, so there the part is at least 1, and a larger cost is
// admitted when nothing is held.
//
// The state is a few bytes: windows that slide keep a log of at most maxPairs
// stamps, and what is merged counts longer, never shorter, so that no window
// ever holds more than the part. The zero value is ready for Open; a Share is
// reused from counter to counter, allocates nothing, and must not be copied.
type Share struct {
	kind    shareKind
	part    int64 // units that this gateway admits
	whole   int64 // the largest cost that is ever admitted
	limit   int64 // of all gateways
	span    int64 // the window, ms; a calendar's is that of its period
	gateway int64 // how many share
	till    int64 // ms until which nothing is admitted
	dirty   bool

	log     compactLog
	room    [maxPairs + 2]hits // the log's and the slots' pairs
	bucket  bucket
	period  period
	slots   slots
	penalty penalty
}

type shareKind byte

const (
	noShare shareKind = iota
	shareOfLog
	shareOfPeriod
	shareOfBucket
	shareOfSlots
	shareOfPenalty
)

// maxGateways is the most gateways that a share is computed for.
const maxGateways = 1 << 16

// ShareAlgorithm is the algorithm of a code, nil for none.
func ShareAlgorithm(code byte) *Algorithm {
	switch code {
	case Penalty.Code:
		return Penalty
	case Pool.Code:
		return Pool
	}
	for _, a := range registry {
		if code != 0 && a.Code == code {
			return a
		}
	}
	return nil
}

// Open makes s the share of a counter that has the numbers p, checked by the
// algorithm's Check. state is what AppendState wrote, perhaps under other
// numbers, or empty for a new counter. It reports whether it was good; if not,
// s refuses everything.
func (s *Share) Open(a *Algorithm, p *Params, gateways int64, state []byte) bool {
	g := min(max(gateways, 1), maxGateways)
	s.kind, s.till, s.dirty = noShare, 0, false
	s.limit, s.span, s.gateway = p.Limit, p.WindowMS, g
	s.part, s.whole = p.Limit/g, p.Limit
	if a.share == nil || !a.share(s, p) {
		return false
	}
	if len(state) > 0 && !s.load(state) {
		s.kind = noShare
		return false
	}
	return true
}

// Each of these makes a share of one kind of algorithm out of the numbers p,
// where Open has set what all have in common; false when p won't do.

func logShare(s *Share, p *Params) bool {
	s.kind = shareOfLog
	s.part = min(s.part, maxBucket)
	s.log = compactLog{p: Params{Limit: s.part, WindowMS: p.WindowMS}}
	return true
}

func windowShare(s *Share, p *Params) bool {
	s.kind = shareOfPeriod
	s.period = period{p: Params{Limit: s.part, WindowMS: p.WindowMS}, bounds: windowBounds}
	return true
}

func calendarShare(s *Share, p *Params) bool {
	if p.Calendar == nil {
		return false
	}
	s.kind = shareOfPeriod
	s.period = period{p: Params{Limit: s.part, Calendar: p.Calendar}, bounds: calendarBounds}
	return true
}

func meterShare(s *Share, p *Params) bool {
	q := *p
	q.WaitMS = 0
	return queueShare(s, &q)
}

func queueShare(s *Share, p *Params) bool {
	s.kind = shareOfBucket
	s.whole = capacity(p)
	q := bucketShare(*p, s.gateway)
	s.part = capacity(&q)
	s.bucket = bucket{p: q}
	return true
}

func slotShare(s *Share, p *Params) bool {
	s.kind = shareOfSlots
	s.part = max(s.part, min(p.Limit, 1))
	s.slots = slots{limit: s.part, hold: p.HoldMS}
	return true
}

func penaltyShare(s *Share, p *Params) bool {
	s.kind = shareOfPenalty
	s.part, s.whole = 1, 1
	s.penalty = penalty{p: *p}
	return true
}

// poolShare is a part of a pool's units, for as long as the pool lasts. What is
// above the part never is admitted: no window ends that it could be charged to.
func poolShare(s *Share, p *Params) bool {
	s.kind = shareOfPeriod
	s.whole = s.part
	s.period = period{p: Params{Limit: s.part, UntilMS: p.UntilMS}, bounds: poolBounds}
	return true
}

func poolBounds(p *Params, _ Micros) (start, stop int64) { return 0, p.UntilMS }

func calendarBounds(p *Params, now Micros) (start, stop int64) {
	t := p.Calendar.Starts(now)
	return t[1], t[2]
}

// bucketShare divides a bucket among g gateways. The rate stays exact where it
// can be counted so, else it becomes slower by as little as needed.
func bucketShare(p Params, g int64) Params {
	if g == 1 || p.Limit == 0 {
		return p
	}
	if p.WaitMS == 0 || p.Burst > 0 { // a queue is bounded by its wait alone
		p.Burst = max(capacity(&p)/g, 1)
	}
	whole, window := p.Limit, p.WindowMS
	for {
		p.WindowMS = mulDiv(window*g, p.Limit, whole)
		if p.WindowMS < 1<<52 {
			if _, _, _, err := scale(&p, capacity(&p)); err == nil {
				return p
			}
		}
		if p.Limit == 1 {
			break
		}
		p.Limit /= 2
	}
	// A unit takes so long to leave that only a smaller bucket can be counted.
	p.WindowMS = min(p.WindowMS, 1<<50)
	p.Burst, p.WaitMS = 1, min(p.WaitMS, 1)
	return p
}

// mulDiv is a·b/c rounded up, at most 2^62; a, b ≥ 0, c > 0.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return 1 << 62
	}
	q, r := bits.Div64(hi, lo, uint64(c))
	if r > 0 {
		q++
	}
	return int64(min(q, 1<<62))
}

// Look decides without charging. Where Dirty then reports true, the state has
// followed a clock that stepped back or a changed window, and is to be stored.
func (s *Share) Look(now Micros, cost int64) Decision {
	cost = clampCost(cost)
	return s.judge(now, cost, s.look(now, cost))
}

// Take charges cost, whether or not there is room, and starts a penalty whatever
// the cost; see Model.
func (s *Share) Take(now Micros, cost int64) Decision {
	cost = clampCost(cost)
	if s.kind == shareOfPenalty {
		s.dirty = true
		return s.penalty.Take(now, cost)
	}
	before := s.Look(now, cost)
	if cost == 0 {
		return before
	}
	s.dirty = true
	d := s.take(now, cost)
	if s.above(cost) && (s.kind == shareOfLog || s.kind == shareOfPeriod) {
		s.till = max(s.till, ceilDiv(now, 1000)+s.pause(cost))
	}
	return after(before, s.judge(now, cost, d))
}

// Refuse records a request that Look refused; see Model.
func (s *Share) Refuse(now Micros, cost int64) Decision {
	cost = clampCost(cost)
	before := s.Look(now, cost)
	if cost == 0 {
		return before
	}
	d := before
	s.dirty = true
	switch s.kind {
	case shareOfLog, shareOfPeriod:
		d = s.take(now, cost)
	case shareOfBucket:
		d = s.bucket.Refuse(now, cost)
	}
	return after(before, s.judge(now, cost, d))
}

// Give returns n units that a Take charged at since, and only those: what has
// left the state since then isn't taken from others.
func (s *Share) Give(now, since Micros, n int64) Decision {
	return s.GiveFrom(now, since, n, 0)
}

// GiveFrom is Give where was, the Take's Current, is known: a bucket then returns
// all units that stood on top of others, which leak first.
func (s *Share) GiveFrom(now, since Micros, n, was int64) Decision {
	n = clampCost(n)
	if n > 0 {
		s.look(now, 0)
		s.dirty = true
		if s.above(n) && s.till == ceilDiv(since, 1000)+s.pause(n) {
			s.till = 0
		}
		s.give(now, since, n, was)
	}
	return s.judge(now, 0, s.look(now, 0)).admitted()
}

func clampCost(n int64) int64 { return min(max(n, 0), maxExact) }

// Dirty reports whether the state changed since Open.
func (s *Share) Dirty() bool { return s.dirty }

// above reports whether a cost is above the part and still within the whole.
func (s *Share) above(cost int64) bool {
	n := max(cost, 1)
	return s.part < n && n <= s.whole
}

// pause is how long nothing is admitted after a cost above the part, ms.
func (s *Share) pause(cost int64) int64 {
	if s.limit == 0 {
		return 0
	}
	return min(mulDiv(s.span*s.gateway, max(cost, 1), s.limit), 1<<50)
}

// judge adds to a model's word what holds for costs above the part.
func (s *Share) judge(now Micros, cost int64, d Decision) Decision {
	ms := floorDiv(now, 1000)
	if s.above(cost) {
		if d.Admitted = d.Current == 0; d.Admitted {
			d.RetryAfterMS = 0
		} else {
			d.RetryAfterMS = max(s.ends()-ms, 1)
		}
	}
	if s.part == 0 && s.whole > 0 && d.Current == 0 {
		d.Remaining = 1
	}
	if s.till == 0 {
		return d
	}
	if most := ms + s.span*s.gateway; s.till > most+skewMS {
		s.till, s.dirty = most, true // the clock stepped back, or the window is shorter
	}
	if wait := s.till - ms; wait > 0 {
		d.Admitted, d.Remaining = false, 0
		d.ResetMS = max(d.ResetMS, wait)
		if d.RetryAfterMS != Never && cost <= s.whole {
			d.RetryAfterMS = max(d.RetryAfterMS, wait)
		}
	}
	return d
}

func (s *Share) look(now Micros, cost int64) Decision {
	switch s.kind {
	case shareOfLog:
		v := s.log.open(now)
		if v.dirty {
			s.log, s.dirty = v.compactLog, true
		}
		return v.decide(now, cost)
	case shareOfPeriod:
		v := s.period.open(now)
		if v.dirty {
			s.period, s.dirty = v.period, true
		}
		s.frame(&v.period)
		return v.decide(now, cost)
	case shareOfBucket:
		v := s.bucket.open(now)
		if v.dirty {
			s.bucket, s.dirty = v.bucket, true
		}
		return v.decide(now, cost)
	case shareOfSlots:
		s.dirty = s.slots.open(now) || s.dirty
		return s.slots.decide(now, cost)
	case shareOfPenalty:
		till := s.penalty.till
		d := s.penalty.Look(now, cost)
		s.dirty = s.dirty || s.penalty.till != till
		return d
	}
	return Decision{RetryAfterMS: Never}
}

// frame learns a calendar's window from its period.
func (s *Share) frame(p *period) {
	if p.p.Calendar != nil {
		s.span = p.stop - p.start
	}
}

func (s *Share) take(now Micros, cost int64) Decision {
	switch s.kind {
	case shareOfLog:
		return s.takeLog(now, cost)
	case shareOfPeriod:
		return s.period.Take(now, cost)
	case shareOfBucket:
		return s.bucket.Take(now, cost)
	case shareOfSlots:
		return s.slots.take(now, cost)
	}
	return Decision{RetryAfterMS: Never}
}

func (s *Share) give(now, since Micros, n, was int64) {
	switch s.kind {
	case shareOfLog:
		s.giveLog(now, since, n)
	case shareOfPeriod:
		v := s.period.open(now)
		if v.start*1000 <= since && since < v.stop*1000 {
			v.count = max(v.count-n, 0)
		}
		s.period = v.period
	case shareOfBucket:
		s.giveBucket(now, since, n, was)
	case shareOfSlots:
		s.slots.give(now, since, n)
	case shareOfPenalty:
		s.penalty.till = 0
	}
}

// giveBucket returns what is left of n units charged at since: what was below them
// then leaked first.
func (s *Share) giveBucket(now, since Micros, n, was int64) {
	v := s.bucket.open(now)
	// The level is already as of v.at, which another worker's later call may have
	// moved beyond now.
	leaked := max(v.at-floorDiv(since, v.res), 0)
	most := maxLevel/v.unit + 1
	units := min(n, most) * v.unit
	below := min(max(was-1-n, 0), most) * v.unit
	if leaked < ceilDiv(units+below, v.leak) {
		v.level = max(v.level-min(units, units+below-leaked*v.leak), 0)
	}
	s.bucket = v.bucket
}

// Ends is the time in ms from which on the state is that of a new counter; 0
// when it is already.
func (s *Share) Ends() int64 { return max(s.ends(), s.till) }

func (s *Share) ends() int64 {
	switch s.kind {
	case shareOfLog:
		if k := len(s.log.buckets); k > 0 {
			return s.log.buckets[k-1].stamp*s.log.tick + s.log.p.WindowMS
		}
	case shareOfPeriod:
		if s.period.count > 0 {
			return s.period.stop
		}
	case shareOfBucket:
		if b := &s.bucket; b.level > 0 {
			return ceilDiv((b.at+ceilDiv(b.level, b.leak))*b.res, 1000)
		}
	case shareOfSlots:
		if k := len(s.slots.held); k > 0 {
			return s.slots.held[k-1].stamp
		}
	case shareOfPenalty:
		return s.penalty.till
	}
	return 0
}
