//go:build !wasip1

package sdkhost

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/goabi"
)

// Contexts has proxytest drive a program: the SDK's callbacks go to the program's by
// the numbers that proxytest gives, as a proxy's do.
func Contexts(c *goabi.Contexts) types.VMContext { return &vmContext{contexts: c} }

type vmContext struct {
	types.DefaultVMContext
	contexts *goabi.Contexts
}

func (v *vmContext) NewPluginContext(id uint32) types.PluginContext {
	v.contexts.Create(id, 0)
	return &pluginContext{contexts: v.contexts, id: id}
}

type pluginContext struct {
	types.DefaultPluginContext
	contexts *goabi.Contexts
	id       uint32
}

func (p *pluginContext) OnPluginStart(size int) types.OnPluginStartStatus {
	return types.OnPluginStartStatus(p.contexts.Plugin(p.id).OnPluginStart(size))
}

func (p *pluginContext) OnTick() { p.contexts.Plugin(p.id).OnTick() }

func (p *pluginContext) OnPluginDone() bool { return p.contexts.Done(p.id) }

func (p *pluginContext) NewHttpContext(id uint32) types.HttpContext {
	p.contexts.Create(id, p.id)
	return &httpContext{contexts: p.contexts, id: id}
}

type httpContext struct {
	types.DefaultHttpContext
	contexts *goabi.Contexts
	id       uint32
}

func (h *httpContext) OnHttpRequestHeaders(n int, end bool) types.Action {
	return types.Action(h.contexts.Stream(h.id).OnHttpRequestHeaders(n, end))
}

func (h *httpContext) OnHttpRequestBody(size int, end bool) types.Action {
	return types.Action(h.contexts.Stream(h.id).OnHttpRequestBody(size, end))
}

func (h *httpContext) OnHttpResponseHeaders(n int, end bool) types.Action {
	return types.Action(h.contexts.Stream(h.id).OnHttpResponseHeaders(n, end))
}

func (h *httpContext) OnHttpResponseBody(size int, end bool) types.Action {
	return types.Action(h.contexts.Stream(h.id).OnHttpResponseBody(size, end))
}

func (h *httpContext) OnHttpResponseTrailers(n int) types.Action {
	return types.Action(h.contexts.Stream(h.id).OnHttpResponseTrailers(n))
}

func (h *httpContext) OnHttpStreamDone() { h.contexts.End(h.id) }
