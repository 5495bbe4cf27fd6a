package plugin

// maxPooled bounds how many ended requests are kept for reuse.
const maxPooled = 1024

// pool keeps ended requests and what they allocated. A request goes back when
// the proxy has reported its end and nothing of ours refers to it any more: no
// call to Redis, no retry, no delay. One whose count a panic left too high is
// never reused.
type pool struct {
	free   []*request
	splits []*split
}

// get makes a request's context.
func (p *pool) get(w *worker, id uint32) *request {
	n := len(p.free)
	if n == 0 {
		return &request{w: w, id: id}
	}
	r := p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	r.id, r.pooled = id, false
	return r
}

// hold notes that something refers to the request.
func (r *request) hold() { r.refs++ }

// drop notes that one thing no longer does.
func (r *request) drop() {
	r.refs--
	r.reuse()
}

// reuse puts a request back that is over and referred to by nothing.
func (r *request) reuse() {
	p := &r.w.pool
	if !r.over || r.refs != 0 || len(p.free) == maxPooled {
		return
	}
	if r.split != nil {
		p.splits = append(p.splits, r.split)
	}
	*r = request{w: r.w, pooled: true, decision: r.decision, callID: r.callID[:0]}
	r.decision.Clear()
	p.free = append(p.free, r)
}
