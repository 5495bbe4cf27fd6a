package plugin

import (
	"sluice/internal/host"
	"sluice/internal/link"
)

// transport is one of a worker's byte streams to Redis: a gRPC stream of the
// proxy's.
type transport struct {
	w    *worker
	pipe *link.Pipe
}

// Open starts a stream; it fails at once where the proxy can't, as on its main
// thread or for an unknown cluster.
func (t *transport) Open() (uint32, error) {
	token, s := t.w.host.OpenStream(t.w.policy.Redis.Cluster, "redis", "pipe")
	if s != host.OK {
		return 0, link.ErrUnavailable
	}
	t.w.vm.streams[token] = t.pipe
	return token, nil
}

// Send writes bytes to the stream.
func (t *transport) Send(token uint32, p []byte) error {
	if s := t.w.host.SendStream(token, p); s != host.OK {
		return link.ErrLost
	}
	return nil
}

// Close ends a stream and forgets its token, which must not be used again.
func (t *transport) Close(token uint32) {
	if t.w.vm.streams[token] == t.pipe {
		delete(t.w.vm.streams, token)
		t.w.host.CancelStream(token)
	}
}

// observer hears of the link's life: it counts it, and says what an operator
// has to know at a limited rate.
type observer struct{ w *worker }

// Connected is link.Observer.
func (o observer) Connected(now int64, n uint64) {
	if n > 1 {
		o.w.metrics.reconnects.add(1)
	}
	if n > 1 && o.w.logs.allow(now, "connected") {
		o.w.host.Log(host.Info, "sluice: connected to Redis again")
	}
}

// Lost is link.Observer. A refused handshake was logged by HandshakeFailed.
func (o observer) Lost(now int64, r link.Reason, detail string) {
	if r == link.Refused || r == link.ShutDown || !o.w.logs.allow(now, "lost") {
		return
	}
	if detail != "" {
		detail = ": " + detail
	}
	o.w.host.Log(host.Warn, "sluice: no connection to Redis through cluster "+o.w.policy.Redis.Cluster+" ("+r.String()+detail+")")
}

// HandshakeFailed is link.Observer.
func (o observer) HandshakeFailed(now int64, e *link.HandshakeError) {
	if o.w.logs.allow(now, "handshake") {
		o.w.host.Log(host.Error, "sluice: "+e.Error())
	}
}

// Late is link.Observer; the call's timeout was counted when it passed.
func (o observer) Late(int64) {}
