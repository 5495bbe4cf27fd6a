//go:build wasip1

package main

import (
	"sluice/internal/goabi"
	"sluice/internal/host"
)

type httpContext struct {
	p   *pluginContext
	id  uint32
	ops host.Headers // the request's headers, which say what to do
}

func (c *httpContext) do(field string) goabi.Action {
	todo, _ := c.ops.Get(field)
	return c.p.run(c, todo)
}

func (c *httpContext) OnHttpRequestHeaders(n int, end bool) goabi.Action {
	raw, _ := proxy.HeaderPairs(host.RequestHeaders)
	c.ops = host.NewHeaders(raw)
	called("proxy_on_request_headers", c.id, uint32(n), bit(end))
	return c.do("x-op")
}

func (c *httpContext) OnHttpRequestBody(n int, end bool) goabi.Action {
	called("proxy_on_request_body", c.id, uint32(n), bit(end))
	return c.do("x-op-body")
}

func (c *httpContext) OnHttpRequestTrailers(n int) goabi.Action {
	called("proxy_on_request_trailers", c.id, uint32(n))
	return c.do("x-op-trailers")
}

func (c *httpContext) OnHttpResponseHeaders(n int, end bool) goabi.Action {
	called("proxy_on_response_headers", c.id, uint32(n), bit(end))
	return c.do("x-op-response")
}

func (c *httpContext) OnHttpResponseBody(n int, end bool) goabi.Action {
	called("proxy_on_response_body", c.id, uint32(n), bit(end))
	return c.do("x-op-response-body")
}

func (c *httpContext) OnHttpResponseTrailers(n int) goabi.Action {
	called("proxy_on_response_trailers", c.id, uint32(n))
	return c.do("x-op-response-trailers")
}

func (c *httpContext) OnHttpStreamDone() {
	called("proxy_on_log", c.id)
	c.do("x-op-log")
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
