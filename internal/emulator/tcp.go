package emulator

import "slices"

// Who closed a connection, as proxy-wasm numbers them.
const (
	PeerUnknown = 0
	PeerLocal   = 1
	PeerRemote  = 2
)

// Connection is one TCP connection through the proxy.
type Connection struct {
	ID uint32

	vm         *VM
	ctx        *vmContext
	down, up   flow
	paused     bool
	downClosed bool
	ended      bool
}

// flow is one direction of a connection.
type flow struct {
	conn     *Connection
	callback string
	data     []byte
	reach    bool
	stopped  bool
	out      []byte
}

// Connect opens a connection.
func (vm *VM) Connect() *Connection {
	ctx := vm.newStreamContext()
	c := &Connection{ID: ctx.id, vm: vm, ctx: ctx}
	ctx.conn = c
	c.down = flow{conn: c, callback: "proxy_on_downstream_data"}
	c.up = flow{conn: c, callback: "proxy_on_upstream_data"}
	vm.create(ctx)
	action, stopped := vm.action(ctx, "proxy_on_new_connection", uint64(ctx.id))
	c.paused = action != 0 || stopped
	return c
}

// Paused reports that the plugin holds the connection back.
func (c *Connection) Paused() bool { return c.paused || c.down.stopped }

// Ended reports that the connection is over.
func (c *Connection) Ended() bool { return c.ended }

// Send is data from the client, ToUpstream what has gone on of it.
func (c *Connection) Send(b []byte, end bool) { c.down.feed(b, end) }

// ToUpstream is what the upstream has got.
func (c *Connection) ToUpstream() []byte { return c.down.out }

// Reply is data from the upstream.
func (c *Connection) Reply(b []byte, end bool) {
	c.up.feed(b, end)
	if end {
		c.closeUpstream(PeerUnknown)
	}
}

// ToClient is what the client has got.
func (c *Connection) ToClient() []byte { return c.up.out }

// Close is the client closing its connection, or the proxy doing so.
func (c *Connection) Close(peer uint32) {
	if c.ended || c.downClosed {
		return
	}
	c.downClosed = true
	c.vm.simple(c.ctx, "proxy_on_downstream_connection_close", uint64(c.ID), uint64(peer))
	c.finish()
}

func (c *Connection) closeUpstream(peer uint32) {
	if c.ended {
		return
	}
	c.vm.simple(c.ctx, "proxy_on_upstream_connection_close", uint64(c.ID), uint64(peer))
}

func (c *Connection) closeByPlugin() { c.Close(PeerLocal) }

// finish makes the last callbacks; for connections Envoy logs after done.
func (c *Connection) finish() {
	if c.ended {
		return
	}
	c.ended = true
	id := uint64(c.ID)
	c.vm.simple(c.ctx, "proxy_on_done", id)
	c.vm.simple(c.ctx, "proxy_on_log", id)
	c.vm.simple(c.ctx, "proxy_on_delete", id)
	delete(c.vm.contexts, c.ctx.id)
	c.ctx.root.streams--
	c.vm.releaseRoot(c.ctx.root)
}

func (f *flow) reachable() *[]byte {
	if !f.reach {
		return nil
	}
	return &f.data
}

func (f *flow) feed(b []byte, end bool) {
	c := f.conn
	if c.ended {
		return
	}
	f.data = slices.Concat(f.data, b) // what is held back comes again
	f.reach = true
	action, stopped := c.vm.action(c.ctx, f.callback, uint64(c.ID), uint64(len(f.data)), bit(end))
	if action != 0 || stopped || c.vm.err != nil {
		f.stopped = true
		return
	}
	f.forward()
}

func (f *flow) resume() {
	f.conn.paused = false
	if f.stopped {
		f.forward()
	}
}

func (f *flow) forward() {
	f.out = append(f.out, f.data...)
	f.data, f.reach, f.stopped = nil, false, false
}
