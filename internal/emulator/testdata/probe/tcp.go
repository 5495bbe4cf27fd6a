//go:build wasip1 && tinygo && gc

package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// tcpContext reads what to do from the data itself.
type tcpContext struct {
	types.DefaultTcpContext
	p  *pluginContext
	id uint32
}

func (c *tcpContext) OnNewConnection() types.Action {
	called("proxy_on_new_connection", c.id)
	if c.p.config == "tcp pause" {
		return types.ActionPause
	}
	return types.ActionContinue
}

func (c *tcpContext) OnDownstreamData(n int, end bool) types.Action {
	called("proxy_on_downstream_data", c.id, uint32(n), bit(end))
	b, err := proxywasm.GetDownstreamData(0, n)
	result("downstream", err, b)
	switch string(b) {
	case "pause":
		return types.ActionPause
	case "append":
		result("append", proxywasm.AppendDownstreamData([]byte("ed")), "")
	case "prepend":
		result("prepend", proxywasm.PrependDownstreamData([]byte("pre")), "")
	case "close downstream":
		result("close", proxywasm.CloseDownstream(), "")
	case "close upstream":
		result("close", proxywasm.CloseUpstream(), "")
	case "continue":
		result("continue", proxywasm.ContinueTcpStream(), "")
		return types.ActionPause
	}
	return types.ActionContinue
}

func (c *tcpContext) OnUpstreamData(n int, end bool) types.Action {
	called("proxy_on_upstream_data", c.id, uint32(n), bit(end))
	b, err := proxywasm.GetUpstreamData(0, n)
	result("upstream", err, b)
	if string(b) == "replace" {
		result("replace", proxywasm.ReplaceUpstreamData([]byte("replaced")), "")
	}
	return types.ActionContinue
}

func (c *tcpContext) OnDownstreamClose(p types.PeerType) {
	called("proxy_on_downstream_connection_close", c.id, uint32(p))
}

func (c *tcpContext) OnUpstreamClose(p types.PeerType) {
	called("proxy_on_upstream_connection_close", c.id, uint32(p))
}

func (c *tcpContext) OnStreamDone() { called("proxy_on_log", c.id) }
