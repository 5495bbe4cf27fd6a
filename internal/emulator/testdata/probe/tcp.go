//go:build wasip1

package main

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/tcp"
)

// tcpContext reads what to do from the data itself.
type tcpContext struct {
	goabi.Idle
	p  *pluginContext
	id uint32
}

var _ tcp.Connection = (*tcpContext)(nil)

func (c *tcpContext) OnNewConnection() goabi.Action {
	called("proxy_on_new_connection", c.id)
	if c.p.config == "tcp pause" {
		return goabi.Pause
	}
	return goabi.Continue
}

func (c *tcpContext) OnDownstreamData(n int, end bool) goabi.Action {
	called("proxy_on_downstream_data", c.id, uint32(n), bit(end))
	b, s := goabi.GetBufferBytes(downstream, 0, uint32(n))
	result("downstream", s, b)
	switch string(b) {
	case "pause":
		return goabi.Pause
	case "append":
		result("append", goabi.SetBufferBytes(downstream, all, 0, []byte("ed")), "")
	case "prepend":
		result("prepend", goabi.SetBufferBytes(downstream, 0, 0, []byte("pre")), "")
	case "close downstream":
		result("close", goabi.CloseStream(downstream), "")
	case "close upstream":
		result("close", goabi.CloseStream(upstream), "")
	case "continue":
		result("continue", goabi.ContinueStream(downstream), "")
		return goabi.Pause
	}
	return goabi.Continue
}

func (c *tcpContext) OnUpstreamData(n int, end bool) goabi.Action {
	called("proxy_on_upstream_data", c.id, uint32(n), bit(end))
	b, s := goabi.GetBufferBytes(upstream, 0, uint32(n))
	result("upstream", s, b)
	if string(b) == "replace" {
		result("replace", goabi.SetBufferBytes(upstream, 0, all, []byte("replaced")), "")
	}
	return goabi.Continue
}

func (c *tcpContext) OnDownstreamClose(peer uint32) {
	called("proxy_on_downstream_connection_close", c.id, peer)
}

func (c *tcpContext) OnUpstreamClose(peer uint32) {
	called("proxy_on_upstream_connection_close", c.id, peer)
}

func (c *tcpContext) OnHttpStreamDone() { called("proxy_on_log", c.id) }
