package link

import (
	"sluice/internal/call"
	"sluice/redisproto"
)

// Each message to Redis costs the proxy several microseconds, however little is
// in it, and each call of the script costs Redis some, however little it asks. So
// what comes while Redis is busy with earlier calls waits for its next reply: then
// all commands go out in one message, and all requests share one call of the script.

const (
	// gatherFrom is how many calls must be out, so that the next reply, which
	// sends what waits, can't be far.
	gatherFrom = 4
	// mostHeld bounds what waits, bytes: more goes out by itself.
	mostHeld = 8 << 10
	// mostShared bounds how many requests share a call: nobody else has a word with
	// Redis meanwhile, and the first waits for the last.
	mostShared = 32
)

// gathered is what waits for the next message.
type gathered struct {
	bytes []byte      // commands
	calls call.Shared // and then those that share a call
	first uint64      // of the pipe's calls: the first that shares
	n     int         // how many wait in all
}

// gathers reports whether a command waits for others.
func (p *Pipe) gathers(now int64) bool {
	if p.o.Gather <= 0 || !p.proved || p.sending || len(p.held.bytes)+p.held.calls.Size() >= mostHeld {
		return false
	}
	return p.calls.len()-p.held.n >= gatherFrom && now-p.sentAt < p.o.Gather
}

// hold keeps a command for the next message.
func (p *Pipe) hold(cmd []byte) {
	p.unite()
	p.held.bytes = append(p.held.bytes, cmd...)
	p.held.n++
}

// share keeps what a request asks for the next message.
func (p *Pipe) share(r *call.Request) {
	h := &p.held
	if p.apart || h.calls.Len() == mostShared || !h.calls.Takes(r) {
		p.unite()
	}
	if h.calls.Len() == 0 {
		h.first = p.calls.tail
	}
	h.calls.Add(r)
	h.n++
}

// unite makes one command of those that share a call.
func (p *Pipe) unite() {
	h := &p.held
	n := h.calls.Len()
	if n == 0 {
		return
	}
	if n > 1 {
		p.calls.at(h.first).shared = n
	}
	h.bytes = h.calls.Flush(h.bytes)
}

// release returns cmd behind the commands that waited, to be sent now.
func (p *Pipe) release(now int64, cmd []byte) []byte {
	p.sentAt = now
	if p.held.n == 0 {
		return cmd
	}
	p.unite()
	b := append(p.held.bytes, cmd...)
	p.held.bytes, p.held.n = b[:0], 0
	return b
}

// flush sends the commands that waited.
func (p *Pipe) flush(now int64) {
	if p.held.n > 0 && p.state == open {
		p.transmit(now, p.release(now, nil))
	}
}

// forget drops what waited, and what of a shared call's reply is still owed.
func (p *Pipe) forget() {
	p.common, p.owed = redisproto.Value{}, 0
	p.held.bytes, p.held.n = p.held.bytes[:0], 0
	p.held.calls.Drop()
}

// unshare takes the reply to a call that n requests share: each is passed its part,
// or all the same error. It reports whether the reply is one to such a call.
func (p *Pipe) unshare(v redisproto.Value, n int) bool {
	switch {
	case v.Kind == redisproto.Error:
		p.apart = p.apart || v.ErrorCode() == redisproto.CodeCrossSlot
	case v.Kind != redisproto.Array || len(v.Elems) != n:
		return false
	}
	p.common, p.owed = v, n
	return true
}

// part is the next request's of a shared call's reply.
func (p *Pipe) part() redisproto.Value {
	v := p.common
	if v.Kind == redisproto.Array {
		v = v.Elems[len(v.Elems)-p.owed]
	}
	p.owed--
	return v
}
