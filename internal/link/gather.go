package link

// Each message to Redis costs the proxy several microseconds, however little is
// in it, and with many calls out they come faster than replies. So commands that
// come close upon each other then go out together.

const (
	// gatherFrom is how many calls must be out, so that the next reply, which
	// sends what waits, can't be far.
	gatherFrom = 4
	// mostHeld bounds what waits, bytes: more goes out by itself.
	mostHeld = 8 << 10
)

// gathers reports whether a command waits for others.
func (p *Pipe) gathers(now int64) bool {
	if p.o.Gather <= 0 || !p.proved || p.sending || len(p.held) >= mostHeld {
		return false
	}
	return p.calls.len()-p.heldCalls >= gatherFrom && now-p.sentAt < p.o.Gather
}

// hold keeps a command for the next message.
func (p *Pipe) hold(cmd []byte) {
	p.held = append(p.held, cmd...)
	p.heldCalls++
}

// release returns cmd behind the commands that waited, to be sent now.
func (p *Pipe) release(now int64, cmd []byte) []byte {
	p.sentAt = now
	if len(p.held) == 0 {
		return cmd
	}
	b := append(p.held, cmd...)
	p.held, p.heldCalls = b[:0], 0
	return b
}

// flush sends the commands that waited.
func (p *Pipe) flush(now int64) {
	if len(p.held) > 0 && p.state == open {
		p.transmit(now, p.release(now, nil))
	}
}
