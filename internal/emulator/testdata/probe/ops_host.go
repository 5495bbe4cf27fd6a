//go:build wasip1

package main

import (
	"strconv"

	"sluice/internal/goabi"
	"sluice/internal/host"
)

// The buffers of a connection, and what stands for all of one.
const (
	downstream uint32 = 2
	upstream   uint32 = 3
	all        uint32 = 1<<31 - 1
)

var counter, gauge, histogram uint32

// The host calls as package host has them, and what a plugin would make of the
// others.
func init() {
	add := func(name string, f func(c *httpContext, args []string)) {
		ops["host."+name] = func(_ *pluginContext, c *httpContext, args []string) { f(c, args) }
	}
	add("log", func(_ *httpContext, a []string) { proxy.Log(host.Critical, a[0]) })
	add("tick", func(_ *httpContext, a []string) { result("tick", proxy.SetTick(number(a[0])), "") })
	add("effective", func(_ *httpContext, a []string) {
		result("effective", proxy.SetEffectiveContext(number(a[0])), "")
	})
	add("property", func(_ *httpContext, a []string) {
		b, s := proxy.Property(join(a))
		result("property", s, b)
	})
	add("set_property", func(_ *httpContext, a []string) {
		result("set_property", proxy.SetProperty(a[0], []byte(a[1])), "")
	})

	add("pairs", func(*httpContext, []string) { logPairs("pairs", host.RequestHeaders) })
	add("get", func(_ *httpContext, a []string) {
		v, s := proxy.HeaderValue(host.RequestHeaders, a[0])
		result("get", s, v)
	})
	add("add", func(_ *httpContext, a []string) {
		result("add", proxy.AddHeader(host.RequestHeaders, a[0], a[1]), "")
	})
	add("replace", func(_ *httpContext, a []string) {
		result("replace", proxy.ReplaceHeader(host.RequestHeaders, a[0], a[1]), "")
	})
	add("remove", func(_ *httpContext, a []string) {
		result("remove", proxy.RemoveHeader(host.RequestHeaders, a[0]), "")
	})
	add("response_add", func(_ *httpContext, a []string) {
		result("add", proxy.AddHeader(host.ResponseHeaders, a[0], a[1]), "")
	})
	add("response_pairs", func(*httpContext, []string) { logPairs("pairs", host.ResponseHeaders) })
	add("trailers", func(*httpContext, []string) { logPairs("trailers", host.RequestTrailers) })
	add("response_trailer", func(_ *httpContext, a []string) {
		v, s := proxy.HeaderValue(host.ResponseTrailers, a[0])
		result("response_trailer", s, v)
	})

	add("body", func(_ *httpContext, a []string) {
		b, s := proxy.BodyBytes(host.RequestBody, int(number(a[0])), int(number(a[1])))
		result("body", s, b)
	})
	add("append", func(_ *httpContext, a []string) {
		result("append", goabi.SetBufferBytes(uint32(host.RequestBody), all, 0, []byte(a[0])), "")
	})
	add("prepend", func(_ *httpContext, a []string) {
		result("prepend", goabi.SetBufferBytes(uint32(host.RequestBody), 0, 0, []byte(a[0])), "")
	})
	add("response_body", func(*httpContext, []string) {
		b, s := proxy.BodyBytes(host.ResponseBody, 0, 1<<30)
		result("body", s, b)
	})
	add("response_replace", func(_ *httpContext, a []string) {
		result("replace", goabi.SetBufferBytes(uint32(host.ResponseBody), 0, all, []byte(a[0])), "")
	})

	add("resume", func(*httpContext, []string) { result("resume", proxy.Resume(host.Request), "") })
	add("resume_response", func(*httpContext, []string) { result("resume", proxy.Resume(host.Response), "") })
	add("answer", func(_ *httpContext, a []string) {
		grpc, _ := strconv.Atoi(a[2])
		result("answer", proxy.Answer(number(a[0]), "", []byte(a[1]), pairs([]string{"x-by", "host"}), int32(grpc)), "")
	})

	add("http_call", func(c *httpContext, a []string) {
		token, s := proxy.HTTPCall(a[0], pairs([]string{":method", "GET", ":path", "/x", ":authority", "a"}), nil, 100)
		if s == host.OK {
			callers[token] = c.id
		}
		result("http_call", s, token)
	})

	add("define", func(_ *httpContext, a []string) {
		counter, _ = proxy.DefineMetric(host.Counter, a[0])
		gauge, _ = proxy.DefineMetric(host.Gauge, a[1])
		histogram, _ = proxy.DefineMetric(host.Histogram, a[2])
	})
	add("count", func(_ *httpContext, a []string) {
		proxy.IncrementMetric(counter, int64(number(a[0])))
		proxy.IncrementMetric(gauge, -int64(number(a[0])))
		proxy.RecordMetric(histogram, uint64(number(a[0])))
		logMetric("counter", counter)
		logMetric("gauge", gauge)
	})
	add("read_histogram", func(*httpContext, []string) { logMetric("histogram", histogram) })

	add("shared", func(_ *httpContext, a []string) {
		v, cas, s := proxy.SharedData(a[0])
		result("shared", s, strconv.Itoa(int(cas))+" "+string(v))
	})
	add("set_shared", func(_ *httpContext, a []string) {
		result("set_shared", proxy.SetSharedData(a[0], []byte(a[1]), number(a[2])), "")
	})
}

// onAnswer reads the answer to an HTTP call and lets the request that made it go on,
// if it is still there.
func onAnswer(caller, headers, size uint32) {
	if proxy.SetEffectiveContext(caller) != host.OK {
		return
	}
	logPairs("call headers", host.HTTPAnswerHeaders)
	b, s := proxy.HTTPAnswer(int(size))
	result("call body", s, b)
	logMap("call trailers", 7)
	if headers > 0 {
		result("resume", proxy.Resume(host.Request), "")
	}
}

// logPairs logs a header map.
func logPairs(name string, m host.Map) { logMap(name, uint32(m)) }

// logMetric logs a metric, which may be below 0.
func logMetric(name string, id uint32) {
	v, s := goabi.GetMetric(id)
	result(name, s, int64(v))
}
