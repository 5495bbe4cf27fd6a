package limit

import "encoding/binary"

// AppendState appends the state: at most MaxShareState bytes, and for counts
// below 16,384 about 60.
func (s *Share) AppendState(dst []byte) []byte {
	dst = put(dst, max(s.till, 0))
	switch s.kind {
	case shareOfLog:
		l := &s.log
		dst = put(put(dst, l.tick), max(l.since, 0))
		dst = appendPairs(dst, l.buckets)
	case shareOfPeriod:
		l := &s.period
		dst = put(put(put(dst, max(l.start, 0)), max(l.stop-l.start, 0)), l.count)
	case shareOfBucket:
		l := &s.bucket
		dst = put(put(put(put(put(dst, l.level), max(l.at, 0)), l.unit), l.leak), l.res)
	case shareOfSlots:
		dst = appendPairs(dst, s.slots.held)
	case shareOfPenalty:
		dst = put(dst, max(s.penalty.till, 0))
	}
	return dst
}

// MaxShareState bounds AppendState, bytes.
const MaxShareState = 4*binary.MaxVarintLen64 + 2*maxPairsRead*binary.MaxVarintLen64

func put(dst []byte, n int64) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// appendPairs writes the youngest stamp, and of the others how far each is
// before the next.
func appendPairs(dst []byte, h []hits) []byte {
	next := int64(0)
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].n == 0 {
			continue
		}
		if next == 0 {
			dst = put(dst, max(h[i].stamp, 0))
		} else {
			dst = put(dst, next-h[i].stamp)
		}
		dst = put(dst, h[i].n)
		next = h[i].stamp
	}
	return dst
}

// stateReader reads numbers; bad says that something was wrong.
type stateReader struct {
	b   []byte
	bad bool
}

// next reads a number from 0 to most.
func (r *stateReader) next(most int64) int64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 || n > uint64(most) {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[k:]
	return int64(n)
}

// maxTime is the latest time that a state may hold, ms or ticks of 1 us.
const maxTime = 1 << 61

// load reads what AppendState wrote, which may come from anywhere.
func (s *Share) load(state []byte) bool {
	r := stateReader{b: state}
	s.till = r.next(maxTime / 1000)
	switch s.kind {
	case shareOfLog:
		l := &s.log
		l.tick, l.since = r.next(maxWindowMS), r.next(maxTime)
		l.buckets, l.total = r.pairs(s.room[:0], maxTime/1000/max(l.tick, 1))
		if k := len(l.buckets); k > 0 {
			l.last = l.buckets[k-1].stamp
			r.bad = r.bad || l.tick == 0
		}
	case shareOfPeriod:
		l := &s.period
		l.start = r.next(maxTime / 1000)
		l.stop = l.start + r.next(maxTime/1000)
		l.count = r.next(maxExact)
	case shareOfBucket:
		l := &s.bucket
		l.level, l.at = r.next(maxLevel), r.next(maxTime)
		l.unit, l.leak, l.res = r.next(maxLevel), r.next(maxLevel), r.next(1000)
		if l.level > 0 {
			r.bad = r.bad || l.unit == 0 || l.leak == 0 || l.res != 1 && l.res != 1000 || l.at > maxTime/l.res
		}
	case shareOfSlots:
		s.slots.held, s.slots.total = r.pairs(s.room[:0], maxTime/1000)
	case shareOfPenalty:
		s.penalty.till = r.next(maxTime / 1000)
	}
	return !r.bad && len(r.b) == 0
}

// pairs reads pairs to the end, stamps up to most, into dst.
func (r *stateReader) pairs(dst []hits, most int64) (h []hits, total int64) {
	h = dst
	for stamp := int64(0); len(r.b) > 0 && len(h) < maxPairsRead; {
		d := r.next(most)
		if len(h) == 0 {
			stamp = d
		} else {
			stamp -= d
			r.bad = r.bad || d == 0 || stamp < 0
		}
		n := r.next(maxExact)
		total += n
		r.bad = r.bad || n == 0 || total > maxExact
		h = append(h, hits{stamp: stamp, n: n})
	}
	for i, j := 0, len(h)-1; i < j; i, j = i+1, j-1 {
		h[i], h[j] = h[j], h[i]
	}
	if r.bad {
		return dst, 0
	}
	return h, total
}
