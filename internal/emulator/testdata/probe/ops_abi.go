//go:build wasip1

package main

import (
	"bytes"
	"strconv"
	"strings"

	"sluice/internal/goabi"
	"sluice/internal/host"
)

// Every host call as package goabi has it.
func init() {
	add := func(name string, f func(args []string)) {
		ops["abi."+name] = func(_ *pluginContext, _ *httpContext, args []string) { f(args) }
	}
	add("log", func(a []string) { result("log", goabi.Log(number(a[0]), a[1]), "") })
	add("log_level", func([]string) {
		l, s := goabi.GetLogLevel()
		result("log_level", s, l)
	})
	add("time", func([]string) {
		ns, s := goabi.GetCurrentTimeNanoseconds()
		result("time", s, ns)
	})
	add("monotonic", func([]string) {
		ns, s := goabi.MonotonicTimeNanoseconds()
		result("monotonic", s, ns)
	})
	add("random", func(a []string) {
		b := make([]byte, number(a[0]))
		s := goabi.RandomGet(b)
		tail := b[max(0, len(b)-16):]
		result("random", s, strconv.Itoa(bytes.Count(tail, []byte{0})))
	})
	add("tick", func(a []string) { result("tick", goabi.SetTickPeriodMilliseconds(number(a[0])), "") })
	add("effective", func(a []string) { result("effective", goabi.SetEffectiveContext(number(a[0])), "") })
	add("done", func([]string) { result("done", goabi.Done(), "") })
	add("foreign", func(a []string) {
		b, s := goabi.CallForeignFunction(a[0], []byte(a[1]))
		result("foreign", s, b)
	})
	add("property", func(a []string) {
		b, s := goabi.GetProperty(join(a))
		result("property", s, b)
	})
	add("set_property", func(a []string) { result("set_property", goabi.SetProperty(a[0], []byte(a[1])), "") })

	add("pairs", func(a []string) { logMap("pairs", number(a[0])) })
	add("set_pairs", func(a []string) {
		result("set_pairs", goabi.SetHeaderMapPairs(number(a[0]), pairs(a[1:])), "")
	})
	add("map_size", func(a []string) {
		n, s := goabi.GetHeaderMapSize(number(a[0]))
		result("map_size", s, n)
	})
	add("get", func(a []string) {
		v, s := goabi.GetHeaderMapValue(number(a[0]), a[1])
		result("get", s, v)
	})
	add("add", func(a []string) { result("add", goabi.AddHeaderMapValue(number(a[0]), a[1], a[2]), "") })
	add("replace", func(a []string) {
		result("replace", goabi.ReplaceHeaderMapValue(number(a[0]), a[1], a[2]), "")
	})
	add("remove", func(a []string) { result("remove", goabi.RemoveHeaderMapValue(number(a[0]), a[1]), "") })

	add("buffer", func(a []string) {
		b, s := goabi.GetBufferBytes(number(a[0]), number(a[1]), number(a[2]))
		result("buffer", s, b)
	})
	add("buffer_status", func(a []string) {
		n, flags, s := goabi.GetBufferStatus(number(a[0]))
		result("buffer_status", s, strconv.Itoa(int(n))+" "+strconv.Itoa(int(flags)))
	})
	add("set_buffer", func(a []string) {
		result("set_buffer", goabi.SetBufferBytes(number(a[0]), number(a[1]), number(a[2]), []byte(a[3])), "")
	})

	add("continue", func(a []string) { result("continue", goabi.ContinueStream(number(a[0])), "") })
	add("close_stream", func(a []string) { result("close_stream", goabi.CloseStream(number(a[0])), "") })
	add("answer", func(a []string) {
		grpc, _ := strconv.Atoi(a[3])
		result("answer", goabi.SendLocalResponse(number(a[0]), a[1], []byte(a[2]), pairs(a[4:]), int32(grpc)), "")
	})

	add("http_call", func(a []string) {
		token, s := goabi.HTTPCall(a[0], pairs(a[2:]), []byte("body"), pairs([]string{"t", "1"}), number(a[1]))
		result("http_call", s, token)
	})
	add("grpc_call", func(a []string) {
		token, s := goabi.GrpcCall([]byte(a[0]), "svc", "do", pairs([]string{"m", "1"}), []byte(a[1]), 100)
		result("grpc_call", s, token)
	})
	add("grpc_stream", func(a []string) {
		token, s := goabi.GrpcStream([]byte(a[0]), "svc", "watch", pairs([]string{"m", "1"}))
		result("grpc_stream", s, token)
	})
	add("grpc_send", func(a []string) {
		result("grpc_send", goabi.GrpcSend(number(a[0]), []byte(a[1]), len(a) > 2), "")
	})
	add("grpc_cancel", func(a []string) { result("grpc_cancel", goabi.GrpcCancel(number(a[0])), "") })
	add("grpc_close", func(a []string) { result("grpc_close", goabi.GrpcClose(number(a[0])), "") })

	add("define", func(a []string) {
		id, s := goabi.DefineMetric(number(a[0]), a[1])
		result("define", s, id)
	})
	add("increment", func(a []string) {
		delta, _ := strconv.ParseInt(a[1], 10, 64)
		result("increment", goabi.IncrementMetric(number(a[0]), delta), "")
	})
	add("record", func(a []string) {
		v, _ := strconv.ParseUint(a[1], 10, 64)
		result("record", goabi.RecordMetric(number(a[0]), v), "")
	})
	add("metric", func(a []string) {
		v, s := goabi.GetMetric(number(a[0]))
		result("metric", s, v)
	})

	add("shared", func(a []string) {
		v, cas, s := goabi.GetSharedData(a[0])
		result("shared", s, strconv.Itoa(int(cas))+" "+string(v))
	})
	add("set_shared", func(a []string) {
		result("set_shared", goabi.SetSharedData(a[0], []byte(a[1]), number(a[2])), "")
	})
	add("register_queue", func(a []string) {
		id, s := goabi.RegisterSharedQueue(a[0])
		result("register_queue", s, id)
	})
	add("resolve_queue", func(a []string) {
		id, s := goabi.ResolveSharedQueue(a[0], a[1])
		result("resolve_queue", s, id)
	})
	add("enqueue", func(a []string) { result("enqueue", goabi.EnqueueSharedQueue(number(a[0]), []byte(a[1])), "") })
	add("dequeue", func(a []string) {
		v, s := goabi.DequeueSharedQueue(number(a[0]))
		result("dequeue", s, v)
	})
	// add-shared adds 1 to a shared number, retrying until it is done.
	add("count", func(a []string) {
		for {
			v, cas, s := goabi.GetSharedData(a[0])
			if s != goabi.OK {
				cas = 1<<32 - 1 // any number but 0 creates it
			}
			n, _ := strconv.Atoi(string(v))
			s = goabi.SetSharedData(a[0], strconv.AppendInt(nil, int64(n+1), 10), cas)
			if s != goabi.CasMismatch {
				return
			}
		}
	})
	// pipe sends a text on the one stream to a cluster, and waits for the reply.
	ops["pipe"] = func(_ *pluginContext, c *httpContext, args []string) {
		if pipeToken == 0 {
			token, s := proxy.OpenStream(args[0], "redis", "pipe")
			result("open", s, "")
			pipeToken = token
		}
		result("send", proxy.SendStream(pipeToken, []byte(strings.ReplaceAll(args[1], "_", " ")+"\r\n")), "")
		waiting[c.id] = pipeToken
	}
}

var pipeToken uint32

// onMessage answers everyone who waits for a stream with its message.
func onMessage(token uint32, b []byte) {
	for id, t := range waiting {
		if t != token {
			continue
		}
		delete(waiting, id)
		if proxy.SetEffectiveContext(id) != host.OK {
			result("gone", nil, id)
			continue
		}
		if string(b) == "resume" {
			result("resume", proxy.Resume(host.Request), "")
			continue
		}
		result("answer", proxy.Answer(200, "from the pipe", b, pairs([]string{"x-from", "pipe"}), -1), "")
	}
}

func join(a []string) string {
	path := a[0]
	for _, e := range a[1:] {
		path += "\x00" + e
	}
	return path
}
