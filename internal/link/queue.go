package link

import "math"

// queue holds the calls that wait for a reply, oldest first, in a ring that
// grows and never shrinks. A call is named by a number that counts up from 0 and
// stays the same while others come and go.
type queue struct {
	ring []waiting // its length is a power of 2
	head uint64    // the oldest call's number
	tail uint64    // the next call's number

	live     int    // calls that haven't had their Done
	liveFrom uint64 // none before this one is live
	soonest  int64  // no live call's deadline is earlier
}

// waiting is one call that waits. It stays, without its continuation, after its
// deadline, so that its late reply isn't taken for the next call's.
type waiting struct {
	call     Call // nil after Done
	deadline int64
	shared   int // so many calls from this one on have one reply; 0 for its own
}

const (
	firstRing = 64
	forever   = math.MaxInt64
)

func (q *queue) len() int { return int(q.tail - q.head) }

func (q *queue) at(n uint64) *waiting { return &q.ring[n&uint64(len(q.ring)-1)] }

func (q *queue) push(c Call, deadline int64) {
	if q.len() == len(q.ring) {
		q.grow()
	}
	if q.live == 0 {
		q.liveFrom, q.soonest = q.tail, forever
	}
	*q.at(q.tail) = waiting{call: c, deadline: deadline}
	q.tail++
	q.live++
	q.soonest = min(q.soonest, deadline)
}

// pop removes the oldest call and returns its continuation, nil if it had its
// Done.
func (q *queue) pop() Call {
	w := q.at(q.head)
	c := w.call
	w.call = nil
	q.head++
	if c != nil {
		q.live--
	}
	return c
}

// take returns a waiting call's continuation and leaves the rest in its place.
func (q *queue) take(n uint64) Call {
	w := q.at(n)
	c := w.call
	w.call = nil
	q.live--
	return c
}

func (q *queue) grow() {
	bigger := make([]waiting, max(firstRing, 2*len(q.ring)))
	for n := q.head; n != q.tail; n++ {
		bigger[n&uint64(len(bigger)-1)] = *q.at(n)
	}
	q.ring = bigger
}
