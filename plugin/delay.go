package plugin

import (
	"container/heap"

	"sluice/internal/host"
)

// delays are held requests that a queue admitted for later, the soonest first.
type delays struct{ heap delayHeap }

type delayHeap []*request

func (h delayHeap) Len() int           { return len(h) }
func (h delayHeap) Less(i, j int) bool { return h[i].wakeAt < h[j].wakeAt }
func (h delayHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *delayHeap) Push(x any)        { *h = append(*h, x.(*request)) }
func (h *delayHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}

func (d *delays) len() int { return len(d.heap) }

// add holds r until at.
func (d *delays) add(r *request, at int64) {
	r.wakeAt = at
	r.hold()
	heap.Push(&d.heap, r)
}

// due takes the next request whose time has come; nil for none.
func (d *delays) due(now int64) *request {
	if len(d.heap) == 0 || d.heap[0].wakeAt > now {
		return nil
	}
	return heap.Pop(&d.heap).(*request)
}

// releaseDue lets the requests go on whose delay is over.
func (w *worker) releaseDue(now int64) {
	for r := w.delays.due(now); r != nil; r = w.delays.due(now) {
		r.wake()
	}
}

// wake concludes a request whose delay is over.
func (r *request) wake() {
	w := r.w
	defer r.drop()
	if r.phase != held {
		return
	}
	r.delayed = false
	if w.host.SetEffectiveContext(r.id) != host.OK {
		r.phase = gone
		r.settle()
		return
	}
	defer w.recoverIn("delay", func() { r.release(r.afterPanic()) })
	r.release(r.conclude())
}
