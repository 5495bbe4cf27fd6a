package plugin

import (
	"sluice/internal/engine"
	"sluice/internal/host"
)

// waiting are held requests whose next attempt is due later: first in, first
// due, since all wait equally long.
type waiting struct {
	queue []*request
}

// add queues a request that is due at.
func (q *waiting) add(r *request, at int64) {
	r.wakeAt = at
	r.hold()
	q.queue = append(q.queue, r)
}

// due takes the next request whose time has come; nil for none.
func (q *waiting) due(now int64) *request {
	if len(q.queue) == 0 || q.queue[0].wakeAt > now {
		return nil
	}
	r := q.queue[0]
	q.queue[0] = nil
	q.queue = q.queue[1:]
	return r
}

// retryDue makes the second attempts that are due.
func (w *worker) retryDue(now int64) {
	for r := w.waiting.due(now); r != nil; r = w.waiting.due(now) {
		r.retry(now)
	}
}

// retry makes a held request's next attempt.
func (r *request) retry(now int64) {
	w := r.w
	defer r.drop()
	if r.phase == held && w.host.SetEffectiveContext(r.id) != host.OK {
		r.phase = gone
	}
	if r.phase == gone {
		r.settle() // the first attempt may have been carried out
	}
	if r.phase != held {
		return
	}
	defer w.recoverIn("retry", func() { r.release(r.afterPanic()) })
	r.deadline = now + w.policy.Redis.TimeoutUS
	r.follow(engine.Send, now)
}
