package emulator_test

import (
	"testing"
	"time"

	"sluice/internal/emulator"
)

const callOwn = "abi.http_call,cluster,100,:method,POST,:path,/x,:authority,a"

func TestHTTPCall(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, callOwn)
	equal(t, "http_call", found(vm, "http_call"), "0 4")
	c := vm.HTTPCalls()[0]
	equal(t, "cluster", c.Cluster, "cluster")
	equal(t, ":path", c.Headers.Get(":path"), "/x")
	equal(t, "body", string(c.Body), "body")
	equal(t, "trailer", c.Trailers.Get("t"), "1")
	equal(t, "timeout", c.TimeoutMS, uint32(100))
	from := len(vm.Logs())
	c.Respond(emulator.Headers{{":status", "200"}, {"a", "b"}}, []byte("answer"), emulator.Headers{{"t", "2"}})
	equal(t, "callbacks", callbacks(vm, from), []string{"proxy_on_http_call_response 1 4 2 6 1"})
	c.Respond(nil, nil, nil)
	equal(t, "callbacks", len(callbacks(vm, from)), 1)
}

func TestHTTPCallIsRead(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "host.http_call,cluster pause")
	vm.HTTPCalls()[0].Respond(emulator.Headers{{":status", "200"}}, []byte("answer"), emulator.Headers{{"t", "2"}})
	equal(t, "headers", found(vm, "call headers"), "0 :status=200")
	equal(t, "body", found(vm, "call body"), "0 answer")
	equal(t, "trailers", found(vm, "call trailers"), "0 t=2")
	if !r.Resumed() {
		t.Error("the request didn't go on")
	}
}

func TestHTTPCallFails(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, callOwn)
	vm.HTTPCalls()[0].Fail()
	equal(t, "status", found(vm, "status"), "0 11 reset")
	do(vm, "host.http_call,cluster")
	vm.HTTPCalls()[1].Fail()
	equal(t, "headers", found(vm, "call headers"), "0")
}

func TestHTTPCallTimesOut(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "host.http_call,cluster pause")
	vm.Advance(99 * time.Millisecond)
	equal(t, "too early", vm.HTTPCalls()[0].Ended(), false)
	vm.Advance(time.Millisecond)
	equal(t, "body", found(vm, "call body"), "0 upstream request timeout")
	equal(t, "resumed", r.Resumed(), true)
}

func TestHTTPCallRefused(t *testing.T) {
	vm := start(t, emulator.Config{Clusters: []string{"known"}})
	for name, ops := range map[string]string{
		"unknown cluster": callOwn,
		"no path":         "abi.http_call,known,100,:method,POST,:authority,a",
		"timeout below 0": "abi.http_call,known,4294967295,:method,POST,:path,/,:authority,a",
		"headers unsound": "abi.http_call,known,100",
		"unknown, read":   "host.http_call,cluster",
	} {
		do(vm, ops)
		if got := found(vm, "http_call"); got != "2 0" {
			t.Errorf("%s: %q", name, got)
		}
	}
	equal(t, "calls", len(vm.HTTPCalls()), 0)
}

func TestGRPCStream(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "abi.grpc_stream,backend abi.grpc_send,6,hello abi.grpc_send,6,world,end")
	equal(t, "grpc_stream", found(vm, "grpc_stream"), "0 6")
	s := vm.Stream(0)
	equal(t, "cluster", s.Cluster, "backend")
	equal(t, "method", s.Service+"/"+s.Method, "svc/watch")
	equal(t, "metadata", s.Metadata.Get("m"), "1")
	equal(t, "messages", len(s.Sent()), 2)
	equal(t, "sent", string(s.TakeSent()), "helloworld")
	equal(t, "closed by the module", s.LocalClosed(), true)
	from := len(vm.Logs())
	s.ReceiveInitialMetadata(emulator.Headers{{"i", "1"}})
	equal(t, "initial", found(vm, "initial"), "0 i=1")
	s.Receive([]byte("one"))
	equal(t, "message", found(vm, "message"), "0 one")
	s.Receive(nil)
	equal(t, "message", found(vm, "message"), "0")
	s.ReceiveTrailingMetadata(emulator.Headers{{"t", "2"}, {"u", "3"}})
	equal(t, "trailing", found(vm, "trailing"), "0 t=2 u=3")
	s.Close(7, "no more")
	equal(t, "status", found(vm, "status"), "0 7 no more")
	s.Receive([]byte("ignored"))
	s.Close(7, "ignored")
	equal(t, "callbacks", callbacks(vm, from), []string{
		"proxy_on_grpc_receive_initial_metadata 1 6 1",
		"proxy_on_grpc_receive 1 6 3",
		"proxy_on_grpc_receive 1 6 0",
		"proxy_on_grpc_receive_trailing_metadata 1 6 2",
		"proxy_on_grpc_close 1 6 7",
	})
}

func TestGRPCStreamEnds(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "abi.grpc_stream,a abi.grpc_cancel,6")
	equal(t, "grpc_cancel", found(vm, "grpc_cancel"), "0")
	s := vm.Stream(0)
	if !s.Cancelled() || s.Open() {
		t.Error("the stream is open")
	}
	from := len(vm.Logs())
	s.Receive([]byte("late"))
	equal(t, "callbacks", len(callbacks(vm, from)), 0)
	for _, ops := range []string{"abi.grpc_cancel,6", "abi.grpc_close,6", "abi.grpc_cancel,5", "abi.grpc_close,9"} {
		do(vm, ops)
		name := ops[4 : len(ops)-2]
		if got := found(vm, name); got != "1" {
			t.Errorf("%s: %q", ops, got)
		}
	}
	do(vm, "abi.grpc_send,6,x")
	equal(t, "grpc_send", found(vm, "grpc_send"), "1")
	do(vm, "abi.grpc_send,5,x")
	equal(t, "grpc_send", found(vm, "grpc_send"), "2")
	do(vm, "abi.grpc_close,4")
	equal(t, "grpc_close", found(vm, "grpc_close"), "2")

	// A stream whose other end has closed lives until the module closes it too.
	do(vm, "abi.grpc_stream,a")
	vm.Stream(1).Close(0, "")
	do(vm, "abi.grpc_close,10")
	equal(t, "grpc_close", found(vm, "grpc_close"), "0")
	do(vm, "abi.grpc_close,10")
	equal(t, "grpc_close", found(vm, "grpc_close"), "1")
}

func TestGRPCStreamToUnknownCluster(t *testing.T) {
	vm := start(t, emulator.Config{Clusters: []string{"known"}})
	do(vm, "abi.grpc_stream,unknown") // not a message, nor a cluster's name
	equal(t, "grpc_stream", found(vm, "grpc_stream"), "4 0")
	from := len(vm.Logs())
	do(vm, "pipe,unknown,hello")
	equal(t, "open", found(vm, "open"), "10")
	// The close comes under a token that nobody got.
	if got := callbacks(vm, from)[2]; got != "proxy_on_grpc_close 1 6 14" {
		t.Errorf("got %q", got)
	}
}

func TestGRPCCall(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "abi.grpc_call,backend,hello abi.grpc_call,backend,again abi.grpc_call,backend,more")
	equal(t, "grpc_call", found(vm, "grpc_call"), "0 13")
	calls := vm.GRPCCalls()
	equal(t, "message", string(calls[0].Message), "hello")
	equal(t, "method", calls[0].Service+"/"+calls[0].Method, "svc/do")
	equal(t, "timeout", calls[0].TimeoutMS, uint32(100))
	calls[0].Reply([]byte("reply"))
	equal(t, "message", found(vm, "message"), "0 reply")
	calls[1].Fail(4, "deadline")
	equal(t, "status", found(vm, "status"), "0 4 deadline")
	do(vm, "abi.grpc_cancel,13")
	equal(t, "grpc_cancel", found(vm, "grpc_cancel"), "0")
	equal(t, "cancelled", calls[2].Cancelled(), true)
	from := len(vm.Logs())
	for _, c := range calls {
		c.Reply([]byte("late"))
		c.Fail(1, "late")
	}
	equal(t, "callbacks", len(callbacks(vm, from)), 0)
}

// One message may resume and answer requests other than the one that was last.
func TestReplyActsOnWaitingRequest(t *testing.T) {
	vm := start(t, emulator.Config{})
	r1 := do(vm, "pipe,redis,one pause")
	s := vm.Stream(0)
	equal(t, "cluster", s.Cluster, "redis")
	equal(t, "sent", string(s.TakeSent()), "one\r\n")
	s.Receive([]byte("resume"))
	if !r1.Resumed() {
		t.Error("the first didn't go on")
	}
	r2 := do(vm, "pipe,redis,two pause")
	r3 := do(vm, "pipe,redis,three pause")
	r3.Cancel()
	s.Receive([]byte("denied"))
	equal(t, "gone", found(vm, "gone"), "0 4")
	if l := r2.LocalReply(); l == nil || string(l.Body) != "denied" || l.Details != "from_the_pipe" || l.Headers.Get("x-from") != "pipe" {
		t.Errorf("answer: %+v", l)
	}
	if r3.LocalReply() != nil {
		t.Error("the dead request was answered")
	}
}

func TestSendingOnEndedStreamIsMisuse(t *testing.T) {
	vm := startAlone(t)
	do(vm, "abi.grpc_stream,a")
	vm.Stream(0).Close(14, "gone")
	do(vm, "abi.grpc_send,6,x")
	equal(t, "misuses", len(vm.Misuse()), 1)
}
