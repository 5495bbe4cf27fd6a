//go:build wasip1

// Command probe is a module that does what its requests tell it to: every host
// call of proxy-wasm, through package host and without it, in any callback. The tests
// of packages goabi and emulator run it.
//
// A request says what to do in header fields, one per callback (x-op for the
// request's headers, x-op-body, x-op-log and so on): operations separated by
// spaces, each with arguments separated by commas. What they found is logged.
package main

import (
	"strconv"
	"strings"

	"sluice/internal/goabi"
	_ "sluice/internal/goabi/body"
	_ "sluice/internal/goabi/deleted"
	_ "sluice/internal/goabi/done"
	"sluice/internal/goabi/grpcmetadata"
	"sluice/internal/goabi/httpcall"
	_ "sluice/internal/goabi/memstats"
	_ "sluice/internal/goabi/queue"
	_ "sluice/internal/goabi/requesttrailers"
	_ "sluice/internal/goabi/streamlog"
	_ "sluice/internal/goabi/tcp"
	_ "sluice/internal/goabi/trailers"
	"sluice/internal/goabi/vmstart"
	"sluice/internal/host"
)

func main() { panic("never runs in a module built with c-shared") }

func init() {
	goabi.Serve(vmContext{})
	vmstart.OnStart = onVMStart
	goabi.OnPanic = onPanic
	goabi.OnGrpcReceive = func(root, token, size uint32) {
		called("proxy_on_grpc_receive", root, token, size)
		b, s := proxy.StreamMessage(int(size))
		result("message", s, b)
		onMessage(token, b)
	}
	goabi.OnGrpcClose = func(root, token, status uint32) {
		called("proxy_on_grpc_close", root, token, status)
		code, text, s := goabi.GetStatus()
		result("status", s, strconv.Itoa(int(code))+" "+text)
	}
	grpcmetadata.OnInitial = func(root, token, n uint32) {
		called("proxy_on_grpc_receive_initial_metadata", root, token, n)
		logMap("initial", grpcmetadata.MapInitial)
	}
	grpcmetadata.OnTrailing = func(root, token, n uint32) {
		called("proxy_on_grpc_receive_trailing_metadata", root, token, n)
		logMap("trailing", grpcmetadata.MapTrailing)
	}
	httpcall.OnResponse = func(root, token, headers, size, trailers uint32) {
		called("proxy_on_http_call_response", root, token, headers, size, trailers)
		if caller, ok := callers[token]; ok {
			delete(callers, token)
			onAnswer(caller, headers, size)
			return
		}
		code, text, s := goabi.GetStatus()
		result("status", s, strconv.Itoa(int(code))+" "+text)
	}
}

var (
	proxy   host.Wasm
	armed   = map[string]bool{}   // callbacks that panic when next called
	pausing bool                  // what OnPanic answers
	callers = map[uint32]uint32{} // contexts that read the answer to their HTTP call
	waiting = map[uint32]uint32{} // paused contexts by the stream they wait for
)

// called notes a callback, and panics in it if it was told to.
func called(callback string, args ...uint32) {
	line := []byte(callback)
	for _, a := range args {
		line = append(line, ' ')
		line = strconv.AppendUint(line, uint64(a), 10)
	}
	proxy.Log(host.Debug, string(line))
	if armed[callback] {
		delete(armed, callback)
		panic("armed")
	}
}

func onPanic(callback string, id uint32, v any) goabi.Action {
	text, ok := v.(string)
	if err, isErr := v.(error); isErr {
		text, ok = err.Error(), true
	}
	if !ok {
		text = "?"
	}
	proxy.Log(host.Warn, "recovered "+callback+" "+strconv.Itoa(int(id))+" "+text)
	if armed["OnPanic"] {
		delete(armed, "OnPanic")
		panic("in the hook")
	}
	if pausing {
		return goabi.Pause
	}
	return goabi.Continue
}

type vmContext struct{}

func onVMStart(size int) bool {
	b, st := goabi.GetBufferBytes(goabi.BufferVMConfiguration, 0, goabi.MaxValue)
	if st != goabi.OK && size > 0 {
		return false
	}
	armed["proxy_on_vm_start"] = string(b) == "panic"
	if callback, ok := strings.CutPrefix(string(b), "arm "); ok {
		armed[callback] = true
	}
	called("proxy_on_vm_start", uint32(size))
	return string(b) != "fail"
}

func (vmContext) NewPluginContext(id uint32) goabi.Plugin {
	called("proxy_on_context_create", id)
	return &pluginContext{id: id}
}

type pluginContext struct {
	id     uint32
	config string
	tickOp string
}

func (p *pluginContext) OnPluginStart(size int) bool {
	abi, _ := goabi.GetBufferBytes(goabi.BufferPluginConfiguration, 0, uint32(size))
	own, _ := proxy.PluginConfiguration()
	if string(abi) != string(own) || len(own) != size {
		proxy.Log(host.Error, "the configuration comes out differently")
		return false
	}
	p.config = string(own)
	armed["proxy_on_configure"] = p.config == "panic"
	called("proxy_on_configure", p.id, uint32(size))
	return p.config != "fail"
}

func (p *pluginContext) OnPluginDone() bool {
	called("proxy_on_done", p.id)
	return p.config != "slow to go"
}

func (p *pluginContext) OnQueueReady(queue uint32) {
	called("proxy_on_queue_ready", p.id, queue)
	if p.config == "drain" {
		b, s := goabi.DequeueSharedQueue(queue)
		result("drained", s, b)
	}
}

func (p *pluginContext) OnTick() {
	called("proxy_on_tick", p.id)
	p.run(nil, p.tickOp)
}

func (p *pluginContext) NewHttpContext(id uint32) goabi.Stream {
	called("proxy_on_context_create", id, p.id)
	if strings.HasPrefix(p.config, "tcp") {
		return &tcpContext{p: p, id: id}
	}
	return &httpContext{p: p, id: id}
}
