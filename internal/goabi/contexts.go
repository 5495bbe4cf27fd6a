package goabi

// Action is what a callback on a stream tells the host to do next.
type Action uint32

const (
	Continue Action = 0
	Pause    Action = 1
)

// VM is a program, as one virtual machine of the host runs it.
type VM interface {
	// NewPluginContext makes the context of one configuration, which the host
	// calls a root context.
	NewPluginContext(id uint32) Plugin
}

// Plugin is one configuration. A host has several while it changes from one to the
// next.
type Plugin interface {
	// OnPluginStart reads the configuration, size bytes long, and reports whether it
	// is accepted.
	OnPluginStart(size int) bool
	// OnTick comes in the period that SetTickPeriodMilliseconds asked for.
	OnTick()
	// NewHttpContext makes a stream's context. nil: the stream is nobody's, and goes
	// on.
	NewHttpContext(id uint32) Stream
	// OnPluginDone is asked once the configuration is replaced and its last stream
	// is gone. With true nothing follows; with false it stays until Done is called.
	OnPluginDone() bool
}

// Stream is one request, or one connection. Sizes are in bytes of what has come
// since the last callback, or in fields; end says that nothing follows.
type Stream interface {
	OnHttpRequestHeaders(n int, end bool) Action
	OnHttpRequestBody(size int, end bool) Action
	OnHttpResponseHeaders(n int, end bool) Action
	OnHttpResponseBody(size int, end bool) Action
	OnHttpResponseTrailers(n int) Action
	// OnHttpStreamDone is the end, however it came: once, and nothing comes after it.
	OnHttpStreamDone()
}

// Idle is a stream that lets all pass, to embed.
type Idle struct{}

func (Idle) OnHttpRequestHeaders(int, bool) Action  { return Continue }
func (Idle) OnHttpRequestBody(int, bool) Action     { return Continue }
func (Idle) OnHttpResponseHeaders(int, bool) Action { return Continue }
func (Idle) OnHttpResponseBody(int, bool) Action    { return Continue }
func (Idle) OnHttpResponseTrailers(int) Action      { return Continue }
func (Idle) OnHttpStreamDone()                      {}

// Contexts are the living contexts of a program, by the numbers that the host gave
// them. It takes any number in any call: one that is unknown is nobody's, and its
// callbacks do nothing.
type Contexts struct {
	VM      VM
	plugins []pluginContext // few: one, or two while they change
	streams table
}

type pluginContext struct {
	id     uint32
	plugin Plugin
}

// Create makes a context: a configuration's for parent 0, else a stream's.
func (c *Contexts) Create(id, parent uint32) {
	if parent == 0 {
		if c.VM != nil && c.Plugin(id) == nil {
			c.plugins = append(c.plugins, pluginContext{id, c.VM.NewPluginContext(id)})
		}
		return
	}
	p := c.Plugin(parent)
	if p == nil {
		return
	}
	s := p.NewHttpContext(id)
	if s == nil {
		return
	}
	if before := c.streams.put(id, s); before != nil {
		before.OnHttpStreamDone() // the host has forgotten it
	}
}

// Plugin finds a configuration; nil for none.
func (c *Contexts) Plugin(id uint32) Plugin {
	for i := range c.plugins {
		if c.plugins[i].id == id {
			return c.plugins[i].plugin
		}
	}
	return nil
}

// Stream finds a stream that hasn't ended; nil for none.
func (c *Contexts) Stream(id uint32) Stream { return c.streams.get(id) }

// Streams is how many have not ended.
func (c *Contexts) Streams() int { return c.streams.n }

// End ends a stream. Hosts report that up to three times, each of them not always:
// when it is logged, when it is done and when it is deleted.
func (c *Contexts) End(id uint32) {
	if s := c.streams.take(id); s != nil {
		s.OnHttpStreamDone()
	}
}

// Done asks a configuration whether it may go, and forgets it then; it ends a
// stream.
func (c *Contexts) Done(id uint32) bool {
	if p := c.Plugin(id); p != nil {
		done := p.OnPluginDone()
		if done {
			c.Delete(id)
		}
		return done
	}
	c.End(id)
	return true
}

// Delete forgets a context.
func (c *Contexts) Delete(id uint32) {
	for i := range c.plugins {
		if c.plugins[i].id == id {
			last := len(c.plugins) - 1
			c.plugins[i] = c.plugins[last]
			c.plugins[last] = pluginContext{}
			c.plugins = c.plugins[:last]
			return
		}
	}
	c.End(id)
}
