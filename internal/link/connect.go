package link

import "errors"

var errClosedAtOnce = errors.New("closed while it opened")

// connect makes sure that there is a connection to send on. The handshake goes
// out first; commands follow it without waiting for its replies.
func (p *Pipe) connect(now int64) error {
	if p.state == open {
		return nil
	}
	if p.state == broken && !p.busy && p.calls.len() == 0 {
		// Nothing waits for the Tick that would do this.
		p.drop(now, p.broke, p.brokeDetail, ErrLost)
	}
	if p.state == broken || !p.retry.ready(now) {
		return ErrUnavailable
	}
	conn, err := p.openTransport()
	if err == nil && p.isStale && p.stale == conn {
		p.t.Close(conn)
		err = errClosedAtOnce
	}
	if err != nil {
		p.retry.failed(now)
		p.o.Observer.Lost(now, OpenFailed, err.Error())
		return ErrUnavailable
	}
	p.conn, p.state, p.openedAt = conn, open, now
	p.helloed, p.proved = 0, false
	if len(p.hello.bytes) > 0 && !p.transmit(now, p.hello.bytes) {
		return ErrUnavailable
	}
	return nil
}

// transmit sends b, or else gives the connection up.
func (p *Pipe) transmit(now int64, b []byte) bool {
	err := p.sendTransport(b)
	if err == nil && p.state == open {
		return true
	}
	detail := ""
	if err != nil {
		detail = err.Error()
	}
	if p.busy {
		// Inside a Done: replies that already came are delivered first.
		if p.state == open {
			p.breakUp(SendFailed, detail)
		}
		return false
	}
	if p.state == broken {
		p.drop(now, p.broke, p.brokeDetail, ErrLost)
	} else {
		p.drop(now, SendFailed, detail, ErrLost)
	}
	return false
}

// breakUp marks the connection unusable. It is given up once all that it
// delivered has been passed on.
func (p *Pipe) breakUp(r Reason, detail string) {
	p.state, p.broke, p.brokeDetail = broken, r, detail
}

// drop gives the connection up and dooms its calls to end with err. It calls no
// Done.
func (p *Pipe) drop(now int64, r Reason, detail string, err error) {
	p.state = idle
	p.forget()
	p.dec.Reset()
	p.early = p.early[:0]
	p.doomed, p.doom = p.calls.tail, err
	if p.proved && now-p.openedAt >= p.retry.max {
		p.retry.succeeded()
	} else {
		p.retry.failed(now)
	}
	p.closeTransport()
	p.o.Observer.Lost(now, r, detail)
}

// While the Transport runs, busy keeps it from coming back in, even if it
// panics.

func (p *Pipe) openTransport() (uint32, error) {
	defer func(was bool) { p.busy, p.opening = was, false }(p.busy)
	p.busy, p.opening, p.isStale = true, true, false
	return p.t.Open()
}

func (p *Pipe) sendTransport(b []byte) error {
	returned := false
	defer func(busy, sending bool) {
		p.busy, p.sending = busy, sending
		if !returned && p.state == open {
			p.breakUp(SendFailed, "") // calls that wait may not have gone out
		}
	}(p.busy, p.sending)
	p.busy, p.sending = true, true
	err := p.t.Send(p.conn, b)
	returned = true
	return err
}

func (p *Pipe) closeTransport() {
	defer func(was bool) { p.busy = was }(p.busy)
	p.busy = true
	p.t.Close(p.conn)
}
