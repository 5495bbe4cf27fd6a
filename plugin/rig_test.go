package plugin

import (
	"math"
	"strconv"
	"testing"

	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// rig is the plugin over a proxy in memory; the test plays Redis.
type rig struct {
	t        testing.TB
	host     *hosttest.Host
	vm       *VM
	contexts goabi.Contexts // of vm
	w        *worker
	next     uint32

	conversations map[*hosttest.Stream]*conversation
}

// exchange is one request on its way.
type exchange struct {
	*rig
	req    *hosttest.Request
	ctx    goabi.Stream
	action goabi.Action
}

func newRig(t testing.TB, config string) *rig {
	t.Helper()
	h := hosttest.New()
	return newRigOver(t, config, h, h)
}

// newRigOver puts the plugin on a host that may misbehave over h.
func newRigOver(t testing.TB, config string, over host.Host, h *hosttest.Host) *rig {
	t.Helper()
	h.Config = []byte(config)
	vm := NewVM(over)
	h.Streams.OnMessage = vm.StreamMessage
	h.Streams.OnClose = vm.StreamClosed
	r := &rig{t: t, host: h, vm: vm, contexts: goabi.Contexts{VM: vm}, next: 100}
	r.w = r.worker(hosttest.RootID)
	if !r.w.OnPluginStart(len(config)) {
		t.Fatalf("the configuration is refused: %v", h.Logs)
	}
	// Tests that play Redis count its calls: polls come only where one asks.
	r.w.control.nextAt = math.MaxInt64
	return r
}

// worker makes the context of a configuration.
func (r *rig) worker(id uint32) *worker {
	r.contexts.Create(id, 0)
	return r.contexts.Plugin(id).(*worker)
}

// stream makes the context of a request to a worker.
func (r *rig) stream(id uint32, w *worker) goabi.Stream {
	r.contexts.Create(id, w.id)
	return r.contexts.Stream(id)
}

func (r *rig) request(headers ...[2]string) *exchange {
	r.next++
	x := &exchange{rig: r, req: r.host.Request(r.next, headers...)}
	x.ctx = r.stream(r.next, r.w)
	x.action = x.ctx.OnHttpRequestHeaders(len(headers), true)
	return x
}

// get is a GET of a path with more headers.
func get(path string, more ...string) [][2]string {
	h := [][2]string{{":method", "GET"}, {":path", path}, {":authority", "example.com"}}
	for i := 0; i < len(more); i += 2 {
		h = append(h, [2]string{more[i], more[i+1]})
	}
	return h
}

// respond runs the upstream's answer through the plugin.
func (x *exchange) respond(headers ...[2]string) {
	x.req.Maps[host.ResponseHeaders] = append([][2]string{{":status", "200"}}, headers...)
	x.host.Enter(x.req.ID)
	if a := x.ctx.OnHttpResponseHeaders(len(headers)+1, true); a != goabi.Continue {
		x.t.Fatal("the response is held")
	}
}

// passed reports whether the request went on, and fails when it did so twice or
// was answered too.
func (x *exchange) passed() bool {
	x.t.Helper()
	n := x.req.Resumed[host.Request]
	if x.action == goabi.Continue {
		n++
	}
	if x.req.Answer != nil {
		n++
	}
	if n > 1 {
		x.t.Fatalf("settled %d times: action %v, resumed %v, answer %+v", n, x.action, x.req.Resumed, x.req.Answer)
	}
	return n == 1 && x.req.Answer == nil
}

// settled reports whether the request went on or was answered.
func (x *exchange) settled() bool { return x.passed() || x.req.Answer != nil }

// reply has Redis send bytes.
func (r *rig) reply(b []byte) {
	r.t.Helper()
	st := r.host.Streams.Last()
	if st == nil || !r.receive(st, b) {
		r.t.Fatal("no stream to reply on")
	}
}

// decision is a script's reply, encoded: time, admitted, five numbers a counter.
func decision(n ...int64) []byte {
	b := []byte("*" + strconv.Itoa(len(n)) + "\r\n")
	for _, x := range n {
		b = append(b, ":"+strconv.FormatInt(x, 10)+"\r\n"...)
	}
	return b
}

// sent decodes the commands that went out since it was last called.
func (r *rig) sent() [][]string {
	r.t.Helper()
	st := r.host.Streams.Last()
	if st == nil {
		return nil
	}
	return r.taken(st)
}

// tick advances both clocks and ticks.
func (r *rig) tick(ms int64) {
	r.host.Advance(ms * 1000)
	r.host.Enter(hosttest.RootID)
	r.w.OnTick()
}

// metric is a counter or gauge, with what the plugin had still to tell of it.
func (r *rig) metric(name string) int64 {
	r.w.metrics.flush(r.vm.now)
	return r.host.Metrics.Value(name)
}
