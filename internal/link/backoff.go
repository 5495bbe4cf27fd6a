package link

// backoff says when to connect again: at once the first time and after a
// connection that was good, else after a random part of a time that doubles
// with each failure in a row.
type backoff struct {
	min, max int64 // µs
	rand     func() uint32
	ceiling  int64 // the next wait is at most this; 0 = no failure yet
	notYet   int64 // no attempt before this time
}

// failed plans the next attempt after one that came to nothing.
func (b *backoff) failed(now int64) {
	b.ceiling = min(max(b.min, 2*b.ceiling), b.max)
	// Never 0: a caller that tries again whenever it fails would spin.
	b.notYet = now + 1 + int64(uint64(b.rand())*uint64(b.ceiling)>>32)
}

// succeeded forgets earlier failures.
func (b *backoff) succeeded() { b.ceiling, b.notYet = 0, 0 }

func (b *backoff) ready(now int64) bool { return now >= b.notYet }
