package emulator_test

import (
	"testing"

	"sluice/internal/emulator"
)

func TestBodyCalls(t *testing.T) {
	for name, c := range map[string]struct {
		ops, result, found, upstream string
	}{
		"read":                {"abi.buffer,0,1,3", "buffer", "0 ell", "hello"},
		"read past the end":   {"abi.buffer,0,3,2147483647", "buffer", "0 lo", "hello"},
		"read behind the end": {"abi.buffer,0,9,1", "buffer", "0", "hello"},
		"read through host":   {"host.body,0,99", "body", "0 hello", "hello"},
		"status":              {"abi.buffer_status,0", "buffer_status", "0 5 0", "hello"},
		"append":              {"host.append,!", "append", "0", "hello!"},
		"prepend":             {"host.prepend,oh-", "prepend", "0", "oh-hello"},
		"replace":             {"abi.set_buffer,0,0,5,bye", "set_buffer", "0", "bye"},
		"replace a part":      {"abi.set_buffer,0,0,3,bye", "set_buffer", "2", "hello"},
		"write in the middle": {"abi.set_buffer,0,2,1,x", "set_buffer", "2", "hello"},
		"write at the end":    {"abi.set_buffer,0,5,0,x", "set_buffer", "0", "hellox"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := start(t, emulator.Config{})
			r := vm.Request(request([2]string{"x-op-body", c.ops}), emulator.Body([]byte("hello")))
			equal(t, c.result, found(vm, c.result), c.found)
			equal(t, "upstream's body", string(r.Upstream().Body), c.upstream)
			if !r.Upstream().Complete {
				t.Error("the request isn't complete")
			}
		})
	}
}

func TestBodyIsBuffered(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request([2]string{"x-op-body", "pause abi.buffer_status,0"}), emulator.Unfinished())
	r.SendBody([]byte("one "), false)
	r.SendBody([]byte("two "), false)
	equal(t, "buffered", found(vm, "buffer_status"), "0 8 0")
	if !r.Paused() || len(r.Upstream().Body) != 0 {
		t.Fatal("the body went on")
	}
	r.SendTrailers(emulator.Headers{{"x-t", "1"}})
	if r.Paused() {
		t.Fatal("still paused after the trailers")
	}
	equal(t, "body", string(r.Upstream().Body), "one two ")
	equal(t, "trailer", r.Upstream().Trailers.Get("x-t"), "1")
	if !r.Upstream().Complete {
		t.Error("not complete")
	}
}

func TestTrailerCalls(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request(
		[2]string{"x-op-trailers", "host.trailers abi.add,1,x-more,2"},
		[2]string{"x-op-response-trailers", "host.response_trailer,x-r abi.remove,3,x-r abi.pairs,3"},
	), emulator.Unfinished())
	r.SendTrailers(emulator.Headers{{"X-T", "1"}})
	equal(t, "trailers", found(vm, "trailers"), "0 x-t=1")
	equal(t, "upstream's", r.Upstream().Trailers.Get("x-more"), "2")
	r.RespondHeaders(emulator.Headers{{":status", "200"}}, false)
	r.RespondTrailers(emulator.Headers{{"x-r", "3"}, {"x-s", "4"}})
	equal(t, "response_trailer", found(vm, "response_trailer"), "0 3")
	equal(t, "pairs", found(vm, "pairs"), "0 x-s=4")
	if r.Response().Trailers.Has("x-r") {
		t.Error("the trailer is still there")
	}
}

// A plugin may add trailers at the end of a body that has none.
func TestTrailersAreCreated(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request([2]string{"x-op-body", "abi.pairs,1 abi.add,1,x-late,1"}), emulator.Body([]byte("b")))
	equal(t, "pairs", found(vm, "pairs"), "0")
	equal(t, "add", found(vm, "add"), "0")
	equal(t, "trailer", r.Upstream().Trailers.Get("x-late"), "1")
	if !r.Upstream().Complete {
		t.Error("not complete")
	}
}

func TestResponseCalls(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request(
		[2]string{"x-op-response", "host.response_add,x-add,1 abi.replace,2,server,me abi.get,0,:path host.response_pairs"},
		[2]string{"x-op-response-body", "host.response_body host.response_replace,new abi.property,response,code_details"},
	))
	r.Respond(emulator.Headers{{":status", "200"}, {"server", "up"}}, []byte("old"))
	equal(t, "pairs", found(vm, "pairs"), "0 :status=200 x-add=1 server=me")
	// The request's headers went on and can't be reached any more.
	equal(t, "get", found(vm, "get"), "2")
	equal(t, "body", found(vm, "body"), "0 old")
	equal(t, "property", found(vm, "property"), "0 via_upstream")
	equal(t, "client's server", r.Response().Headers.Get("server"), "me")
	equal(t, "client's body", string(r.Response().Body), "new")
}

func TestLogReadsMaps(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := vm.Request(request([2]string{"x-op-log", "abi.get,0,:path abi.pairs,2 abi.get,3,x-t abi.add,2,a,b abi.property,response,code"}))
	r.RespondHeaders(emulator.Headers{{":status", "503"}}, false)
	r.RespondTrailers(emulator.Headers{{"x-t", "tail"}})
	equal(t, "get", found(vm, "get"), "0 tail")
	equal(t, "pairs", found(vm, "pairs"), "0 :status=503")
	equal(t, "add", found(vm, "add"), "2")
	equal(t, "property", found(vm, "property"), "0 "+string(emulator.Number(503)))
}

func TestLogWithoutRequest(t *testing.T) {
	vm := start(t, emulator.Config{})
	from := len(vm.Logs())
	r := vm.RejectedBefore(request(), "400")
	if !r.Ended() {
		t.Error("not over")
	}
	equal(t, "callbacks", callbacks(vm, from), []string{"proxy_on_context_create 2 1", "proxy_on_log 2"})
}
