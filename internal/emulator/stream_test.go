package emulator_test

import (
	"testing"

	"sluice/internal/emulator"
)

func TestPauseAndResume(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "at-tick,abi.effective,3/abi.add,0,x-late,1/host.resume/abi.add,0,x-later,1")
	r := vm.Request(request([2]string{"x-op", "pause"}), emulator.Body([]byte("hello")))
	if !r.Paused() || r.Forwarded() || r.Resumed() {
		t.Fatal("not paused")
	}
	vm.Tick()
	if r.Paused() || !r.Resumed() {
		t.Fatal("not resumed")
	}
	equal(t, "effective", found(vm, "effective"), "0")
	equal(t, "added before resuming", r.Upstream().Headers.Get("x-late"), "1")
	// Resuming takes the headers out of reach at once.
	equal(t, "add", found(vm, "add"), "2")
	equal(t, "body", string(r.Upstream().Body), "hello")
}

// Resuming inside the callback that then pauses sends the headers on, and the
// body never; Envoy does the same, and it is reported.
func TestResumeInsideCallback(t *testing.T) {
	vm := startAlone(t)
	r := do(vm, "host.resume pause", emulator.Body([]byte("stuck")))
	if !r.Forwarded() || r.Upstream().Complete || !r.Paused() {
		t.Errorf("upstream %+v, paused %v", r.Upstream(), r.Paused())
	}
	equal(t, "misuses", len(vm.Misuse()), 1)
	r = do(vm, "host.resume")
	if !r.Forwarded() || !r.Upstream().Complete || r.Paused() {
		t.Errorf("upstream %+v, paused %v", r.Upstream(), r.Paused())
	}
	equal(t, "misuses", len(vm.Misuse()), 2)
}

// Resuming what isn't paused does nothing, nor does a second answer.
func TestTooMuch(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "at-tick,abi.effective,3/host.resume/host.resume")
	r := do(vm, "")
	vm.Tick()
	equal(t, "body", len(r.Upstream().Body), 0)
	r = do(vm, "abi.answer,429,a,b,-1 abi.answer,500,c,d,-1")
	equal(t, "status", r.Response().Headers.Get(":status"), "429")
}

func TestResponsePauseAndResume(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "at-tick,abi.effective,3/host.resume_response")
	r := vm.Request(request([2]string{"x-op-response", "pause"}))
	r.Respond(emulator.Headers{{":status", "200"}}, []byte("later"))
	if !r.ResponsePaused() || r.Ended() || r.Response().Headers != nil {
		t.Fatal("not paused")
	}
	vm.Tick()
	equal(t, "body", string(r.Response().Body), "later")
	if !r.Ended() {
		t.Error("not over")
	}
}

func TestLocalReply(t *testing.T) {
	vm := start(t, emulator.Config{})
	from := len(vm.Logs())
	r := vm.Request(request(
		[2]string{"x-op", "abi.answer,429,too-many,slow,-1,X-A,1,x-a,2"},
		[2]string{"x-op-response", "abi.add,2,x-b,3"},
		[2]string{"x-op-log", "abi.get,2,:status abi.property,response,code_details"},
	), emulator.Body([]byte("ignored")))
	l := r.LocalReply()
	if l == nil {
		t.Fatal("no local reply")
	}
	equal(t, "status", l.Status, uint32(429))
	equal(t, "details", l.Details, "too-many")
	equal(t, "grpc status", l.GRPCStatus, int32(-1))
	equal(t, "body", string(r.Response().Body), "slow")
	h := r.Response().Headers
	equal(t, ":status", h.Get(":status"), "429")
	equal(t, "x-a", h.Values("x-a"), []string{"1", "2"})
	equal(t, "x-b", h.Get("x-b"), "3")
	equal(t, "content-length", h.Get("content-length"), "4")
	equal(t, "content-type", h.Get("content-type"), "text/plain")
	if r.Forwarded() || r.Paused() || !r.Ended() {
		t.Error("the request went on, or isn't over")
	}
	equal(t, "get", found(vm, "get"), "0 429")
	equal(t, "property", found(vm, "property"), "0 too-many")
	equal(t, "callbacks", callbacks(vm, from), []string{
		"proxy_on_context_create 2 1",
		"proxy_on_request_headers 2 7 0",
		"proxy_on_response_headers 2 5 0",
		"proxy_on_response_body 2 4 1",
		"proxy_on_log 2",
	})
}

func TestLocalReplyThroughSDK(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "host.answer,403,no,-1")
	equal(t, "status", r.Response().Headers.Get(":status"), "403")
	equal(t, "x-by", r.Response().Headers.Get("x-by"), "host")
	equal(t, "body", string(r.Response().Body), "no")
}

func TestLocalReplyToGRPC(t *testing.T) {
	for name, c := range map[string]struct{ ops, status string }{
		"own status":        {"abi.answer,429,d,a%b,8", "8"},
		"translated status": {"abi.answer,429,d,a%b,-1", "14"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := start(t, emulator.Config{})
			r := vm.Request(request([2]string{"content-type", "application/grpc+proto"}, [2]string{"x-op", c.ops}))
			h := r.Response().Headers
			equal(t, ":status", h.Get(":status"), "200")
			equal(t, "grpc-status", h.Get("grpc-status"), c.status)
			equal(t, "grpc-message", h.Get("grpc-message"), "a%25b")
			equal(t, "body", string(r.Response().Body), "")
		})
	}
}

func TestLocalReplyToHEAD(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(emulator.Headers{{":method", "HEAD"}, {":path", "/"}, {":authority", "a"}, {"x-op", "abi.answer,429,d,body,-1"}})
	equal(t, "body", string(r.Response().Body), "")
	equal(t, "content-length", r.Response().Headers.Get("content-length"), "4")
}

// An answer during the response replaces it, if its headers haven't gone on.
func TestLocalReplyInResponse(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request([2]string{"x-op-response", "abi.answer,500,d,sorry,-1"}))
	r.Respond(emulator.Headers{{":status", "200"}}, []byte("fine"))
	equal(t, "status", r.Response().Headers.Get(":status"), "500")
	equal(t, "body", string(r.Response().Body), "sorry")

	r = vm.Request(request([2]string{"x-op-response-body", "abi.answer,500,d,sorry,-1"}))
	r.Respond(emulator.Headers{{":status", "200"}}, []byte("fine"))
	if !r.WasReset() || r.Response().Complete {
		t.Error("too late an answer must reset the stream")
	}
}

func TestCloseStream(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "abi.close_stream,0")
	if !r.WasReset() || !r.Ended() || r.Details() != "wasm_close_stream" {
		t.Errorf("reset %v ended %v details %q", r.WasReset(), r.Ended(), r.Details())
	}
	do(vm, "abi.close_stream,7")
	equal(t, "close_stream", found(vm, "close_stream"), "2")
	do(vm, "abi.continue,3")
	equal(t, "continue", found(vm, "continue"), "12")
	do(vm, "abi.continue,7")
	equal(t, "continue", found(vm, "continue"), "2")
}

// A context that is gone can't be acted on: calls go to the context whose
// callback runs, and say OK.
func TestGoneContext(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "at-tick,abi.effective,3/host.resume/abi.answer,500,d,b,-1")
	r := vm.Request(request([2]string{"x-op", "pause"}))
	r.Cancel()
	if !r.Ended() || r.Paused() {
		t.Fatal("the request isn't over")
	}
	vm.Tick()
	equal(t, "effective", found(vm, "effective"), "2")
	equal(t, "resume", found(vm, "resume"), "0")
	equal(t, "answer", found(vm, "answer"), "0")
	if r.LocalReply() != nil || r.Forwarded() {
		t.Error("the dead request was acted on")
	}
}

func TestFilterState(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "abi.set_property,one,1 abi.set_property,two,2 abi.set_property,one,3")
	equal(t, "one", string(r.FilterState("one")), "3")
	equal(t, "two", string(r.FilterState("two")), "2")
	equal(t, "number", len(r.FilterStates()), 2)
	if r.FilterState("three") != nil {
		t.Error("state that nobody set")
	}
}

// An upstream can't answer what hasn't reached it: that is a mistake of the test.
func TestImpossibleResponse(t *testing.T) {
	vm := startAlone(t)
	r := do(vm, "pause")
	defer func() {
		if recover() == nil {
			t.Error("nothing was said")
		}
		if r.Response().Headers != nil {
			t.Error("the response went through")
		}
	}()
	r.Respond(emulator.Headers{{":status", "200"}}, nil)
}
