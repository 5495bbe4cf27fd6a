//go:build wasip1 && tinygo && gc

package main

import (
	"strconv"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

var (
	counter   proxywasm.MetricCounter
	gauge     proxywasm.MetricGauge
	histogram proxywasm.MetricHistogram
)

// Every host call through the SDK.
func init() {
	add := func(name string, f func(args []string)) {
		ops["sdk."+name] = func(_ *pluginContext, _ *httpContext, args []string) { f(args) }
	}
	add("log", func(a []string) { proxywasm.LogCritical(a[0]) })
	add("tick", func(a []string) { result("tick", proxywasm.SetTickPeriodMilliSeconds(number(a[0])), "") })
	add("effective", func(a []string) { result("effective", proxywasm.SetEffectiveContext(number(a[0])), "") })
	add("done", func([]string) { proxywasm.PluginDone() })
	add("foreign", func(a []string) {
		b, err := proxywasm.CallForeignFunction(a[0], []byte(a[1]))
		result("foreign", err, b)
	})
	add("property", func(a []string) {
		b, err := proxywasm.GetProperty(a)
		result("property", err, b)
	})
	add("set_property", func(a []string) {
		result("set_property", proxywasm.SetProperty(a[:1], []byte(a[1])), "")
	})

	add("pairs", func([]string) {
		h, err := proxywasm.GetHttpRequestHeaders()
		result("pairs", err, fields(h))
	})
	add("set_pairs", func(a []string) {
		result("set_pairs", proxywasm.ReplaceHttpRequestHeaders([][2]string{{a[0], a[1]}, {a[2], a[3]}}), "")
	})
	add("get", func(a []string) {
		v, err := proxywasm.GetHttpRequestHeader(a[0])
		result("get", err, v)
	})
	add("add", func(a []string) { result("add", proxywasm.AddHttpRequestHeader(a[0], a[1]), "") })
	add("replace", func(a []string) { result("replace", proxywasm.ReplaceHttpRequestHeader(a[0], a[1]), "") })
	add("remove", func(a []string) { result("remove", proxywasm.RemoveHttpRequestHeader(a[0]), "") })
	add("response_add", func(a []string) { result("add", proxywasm.AddHttpResponseHeader(a[0], a[1]), "") })
	add("response_pairs", func([]string) {
		h, err := proxywasm.GetHttpResponseHeaders()
		result("pairs", err, fields(h))
	})
	add("trailers", func([]string) {
		h, err := proxywasm.GetHttpRequestTrailers()
		result("trailers", err, fields(h))
	})
	add("response_trailer", func(a []string) {
		v, err := proxywasm.GetHttpResponseTrailer(a[0])
		result("response_trailer", err, v)
	})

	add("body", func(a []string) {
		b, err := proxywasm.GetHttpRequestBody(int(number(a[0])), int(number(a[1])))
		result("body", err, b)
	})
	add("append", func(a []string) { result("append", proxywasm.AppendHttpRequestBody([]byte(a[0])), "") })
	add("prepend", func(a []string) { result("prepend", proxywasm.PrependHttpRequestBody([]byte(a[0])), "") })
	add("response_body", func([]string) {
		b, err := proxywasm.GetHttpResponseBody(0, 1<<30)
		result("body", err, b)
	})
	add("response_replace", func(a []string) {
		result("replace", proxywasm.ReplaceHttpResponseBody([]byte(a[0])), "")
	})

	add("resume", func([]string) { result("resume", proxywasm.ResumeHttpRequest(), "") })
	add("resume_response", func([]string) { result("resume", proxywasm.ResumeHttpResponse(), "") })
	add("answer", func(a []string) {
		grpc, _ := strconv.Atoi(a[2])
		result("answer", proxywasm.SendHttpResponse(number(a[0]), [][2]string{{"x-by", "sdk"}}, []byte(a[1]), int32(grpc)), "")
	})

	add("http_call", func(a []string) {
		token, err := proxywasm.DispatchHttpCall(a[0], [][2]string{
			{":method", "GET"}, {":path", "/x"}, {":authority", "a"},
		}, nil, nil, 100, func(n, size, trailers int) {
			h, err := proxywasm.GetHttpCallResponseHeaders()
			result("call headers", err, fields(h))
			b, err := proxywasm.GetHttpCallResponseBody(0, size)
			result("call body", err, b)
			h, err = proxywasm.GetHttpCallResponseTrailers()
			result("call trailers", err, fields(h))
			if n > 0 {
				result("resume", proxywasm.ResumeHttpRequest(), "")
			}
		})
		result("http_call", err, token)
	})

	add("define", func(a []string) {
		counter = proxywasm.DefineCounterMetric(a[0])
		gauge = proxywasm.DefineGaugeMetric(a[1])
		histogram = proxywasm.DefineHistogramMetric(a[2])
	})
	add("count", func(a []string) {
		counter.Increment(uint64(number(a[0])))
		gauge.Add(-int64(number(a[0])))
		histogram.Record(uint64(number(a[0])))
		result("counter", nil, counter.Value())
		result("gauge", nil, gauge.Value())
	})
	add("read_histogram", func([]string) { histogram.Value() })

	add("shared", func(a []string) {
		v, cas, err := proxywasm.GetSharedData(a[0])
		result("shared", err, strconv.Itoa(int(cas))+" "+string(v))
	})
	add("set_shared", func(a []string) {
		result("set_shared", proxywasm.SetSharedData(a[0], []byte(a[1]), number(a[2])), "")
	})
	add("register_queue", func(a []string) {
		id, err := proxywasm.RegisterSharedQueue(a[0])
		result("register_queue", err, id)
	})
	add("resolve_queue", func(a []string) {
		id, err := proxywasm.ResolveSharedQueue(a[0], a[1])
		result("resolve_queue", err, id)
	})
	add("enqueue", func(a []string) { result("enqueue", proxywasm.EnqueueSharedQueue(number(a[0]), []byte(a[1])), "") })
	add("dequeue", func(a []string) {
		v, err := proxywasm.DequeueSharedQueue(number(a[0]))
		result("dequeue", err, v)
	})
}

func fields(h [][2]string) string {
	text := make([]string, len(h))
	for i, f := range h {
		text[i] = f[0] + "=" + f[1]
	}
	return strings.Join(text, " ")
}
