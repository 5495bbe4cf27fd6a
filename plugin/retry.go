package plugin

import "sluice/internal/engine"

// retrier is what has another attempt to make.
type retrier interface{ retry(now int64) }

// waiting are attempts that are due later: first in, first due, since all wait
// equally long. Whoever adds one holds its request, and retry drops it.
type waiting struct {
	queue []attempt
}

type attempt struct {
	at  int64 // steady microseconds
	who retrier
}

// add queues who's attempt, due at.
func (q *waiting) add(who retrier, at int64) { q.queue = append(q.queue, attempt{at, who}) }

// due takes the next whose time has come; nil for none.
func (q *waiting) due(now int64) retrier {
	if len(q.queue) == 0 || q.queue[0].at > now {
		return nil
	}
	who := q.queue[0].who
	q.queue[0] = attempt{}
	q.queue = q.queue[1:]
	return who
}

// retryDue makes the attempts that are due.
func (w *worker) retryDue(now int64) {
	for who := w.waiting.due(now); who != nil; who = w.waiting.due(now) {
		who.retry(now)
	}
}

// retry makes a held request's next attempt.
func (r *request) retry(now int64) {
	w := r.w
	defer r.drop()
	r.seek()
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
