package emulator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/emulator"
)

// Each callback panics once; the hook hears of it with the callback's name and
// first argument, the host gets a safe answer, and what comes next works.
func TestPanicInEachCallback(t *testing.T) {
	ok := emulator.Headers{{":status", "200"}}
	for callback, provoke := range map[string]func(t *testing.T, vm *emulator.VM) (id string){
		"proxy_on_context_create": func(t *testing.T, vm *emulator.VM) string {
			// The context is nobody's then, and its request goes on all the same.
			from := len(vm.Logs())
			r := do(vm, "")
			r.Respond(ok, nil)
			if !r.Ended() {
				t.Error("the request isn't over")
			}
			equal(t, "callbacks", callbacks(vm, from), []string{"proxy_on_context_create 3 1"})
			return "3"
		},
		"proxy_on_request_headers": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "")
			if !r.Forwarded() {
				t.Error("the request didn't go on")
			}
			return "3"
		},
		"proxy_on_request_body": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "", emulator.Body([]byte("b")))
			if string(r.Upstream().Body) != "b" {
				t.Error("the body didn't go on")
			}
			return "3"
		},
		"proxy_on_request_trailers": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "", emulator.Unfinished())
			r.SendTrailers(emulator.Headers{{"a", "b"}})
			if !r.Upstream().Complete {
				t.Error("the trailers didn't go on")
			}
			return "3"
		},
		"proxy_on_response_headers": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "")
			r.Respond(ok, nil)
			if !r.Response().Complete {
				t.Error("the response didn't go on")
			}
			return "3"
		},
		"proxy_on_response_body": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "")
			r.Respond(ok, []byte("b"))
			if string(r.Response().Body) != "b" {
				t.Error("the body didn't go on")
			}
			return "3"
		},
		"proxy_on_response_trailers": func(t *testing.T, vm *emulator.VM) string {
			r := do(vm, "")
			r.RespondHeaders(ok, false)
			r.RespondTrailers(emulator.Headers{{"a", "b"}})
			if !r.Response().Complete {
				t.Error("the trailers didn't go on")
			}
			return "3"
		},
		"proxy_on_log": func(t *testing.T, vm *emulator.VM) string {
			return "2" // of the request that armed it
		},
		"proxy_on_done": func(t *testing.T, vm *emulator.VM) string {
			// A root context that panics here may go.
			vm.Reconfigure("other")
			if vm.RootContexts() != 1 {
				t.Errorf("%d root contexts", vm.RootContexts())
			}
			return "1"
		},
		"proxy_on_configure": func(t *testing.T, vm *emulator.VM) string {
			if vm.Reconfigure("panic") {
				t.Error("the configuration was taken")
			}
			return "3"
		},
		"proxy_on_tick": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.tick,10").Done()
			vm.Advance(10 * time.Millisecond)
			return "1"
		},
		"proxy_on_queue_ready": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.register_queue,q abi.enqueue,1,x").Done()
			vm.Pump(0)
			return "1"
		},
		"proxy_on_http_call_response": func(t *testing.T, vm *emulator.VM) string {
			do(vm, callOwn).Done()
			vm.HTTPCalls()[0].Respond(ok, nil, nil)
			return "1"
		},
		"proxy_on_grpc_receive": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.grpc_stream,a").Done()
			vm.Stream(0).Receive([]byte("x"))
			return "1"
		},
		"proxy_on_grpc_close": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.grpc_stream,a").Done()
			vm.Stream(0).Close(1, "")
			return "1"
		},
		"proxy_on_grpc_receive_initial_metadata": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.grpc_stream,a").Done()
			vm.Stream(0).ReceiveInitialMetadata(emulator.Headers{{"a", "b"}})
			return "1"
		},
		"proxy_on_grpc_receive_trailing_metadata": func(t *testing.T, vm *emulator.VM) string {
			do(vm, "abi.grpc_stream,a").Done()
			vm.Stream(0).ReceiveTrailingMetadata(emulator.Headers{{"a", "b"}})
			return "1"
		},
	} {
		t.Run(callback, func(t *testing.T) {
			vm := start(t, emulator.Config{})
			do(vm, "arm,"+callback).Done()
			id := provoke(t, vm)
			if line := "recovered " + callback + " " + id + " armed"; !vm.Logged(line) {
				t.Errorf("no line %q", line)
			}
			works(t, vm)
		})
	}
}

// works shows that a VM still serves requests.
func works(t *testing.T, vm *emulator.VM) {
	t.Helper()
	if vm.Err() != nil {
		t.Fatal(vm.Err())
	}
	r := do(vm, "abi.get,0,:path")
	r.Respond(emulator.Headers{{":status", "204"}}, nil)
	if got := found(vm, "get"); got != "0 /a?b=1" || r.Response().Headers.Get(":status") != "204" {
		t.Errorf("the next request: found %q, got %v", got, r.Response().Headers)
	}
}

func TestPanicInTCPCallbacks(t *testing.T) {
	for callback, provoke := range map[string]func(c *emulator.Connection){
		"proxy_on_new_connection":              func(*emulator.Connection) {},
		"proxy_on_downstream_data":             func(c *emulator.Connection) { c.Send([]byte("x"), false) },
		"proxy_on_upstream_data":               func(c *emulator.Connection) { c.Reply([]byte("x"), false) },
		"proxy_on_upstream_connection_close":   func(c *emulator.Connection) { c.Reply([]byte("x"), true) },
		"proxy_on_downstream_connection_close": func(c *emulator.Connection) { c.Close(emulator.PeerRemote) },
	} {
		t.Run(callback, func(t *testing.T) {
			vm := start(t, emulator.Config{Plugin: "tcp", Foreign: nil, VM: "arm " + callback})
			c := vm.Connect()
			provoke(c)
			if line := "recovered " + callback + " 2 armed"; !vm.Logged(line) {
				t.Errorf("no line %q", line)
			}
			c.Close(emulator.PeerRemote)
			next := vm.Connect()
			next.Send([]byte("fine"), false)
			if string(next.ToUpstream()) != "fine" {
				t.Error("the next connection doesn't work")
			}
		})
	}
}

// A stream that is nobody's takes every callback, and none of them panics.
func TestUnknownContext(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "arm,proxy_on_context_create").Done()
	from := len(vm.Logs())
	r := do(vm, "", emulator.Body([]byte("b")), emulator.Unfinished())
	r.SendTrailers(emulator.Headers{{"a", "b"}})
	r.RespondHeaders(emulator.Headers{{":status", "200"}}, false)
	r.RespondBody([]byte("b"), false)
	r.RespondTrailers(emulator.Headers{{"a", "b"}})
	r.Done()
	equal(t, "callbacks", callbacks(vm, from), []string{"proxy_on_context_create 3 1"})
	for _, l := range vm.Logs()[from:] {
		if strings.HasPrefix(l.Message, "recovered") && l.Message != "recovered proxy_on_context_create 3 armed" {
			t.Error(l.Message)
		}
	}
	works(t, vm)
}

// The hook's answer is the callback's.
func TestHookDecides(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "answer-panics,pause").Done()
	r := do(vm, "nil-map")
	if !r.Paused() {
		t.Error("the request wasn't paused")
	}
	do(vm, "answer-panics,continue").Done()
}

func TestHookPanics(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "arm,OnPanic arm,proxy_on_request_headers").Done()
	r := do(vm, "")
	if !r.Forwarded() {
		t.Error("the request didn't go on")
	}
	works(t, vm)
}

func TestKindsOfPanics(t *testing.T) {
	for op, text := range map[string]string{
		"nil-map":     "assignment to entry in nil map",
		"nil-pointer": "nil pointer dereference",
		"index":       "index out of range",
	} {
		vm := start(t, emulator.Config{})
		do(vm, op)
		if !vm.Logged(text) {
			t.Errorf("%s: nothing was recovered", op)
		}
		works(t, vm)
	}
}

// What can't be recovered kills the VM for good.
func TestTrap(t *testing.T) {
	for name, failOpen := range map[string]bool{"closed": false, "open": true} {
		t.Run("fail "+name, func(t *testing.T) {
			vm := start(t, emulator.Config{FailOpen: failOpen})
			held := do(vm, "pause")
			r := do(vm, "exit")
			if err := vm.Err(); err == nil || !strings.Contains(err.Error(), "proxy_on_request_headers") {
				t.Fatalf("the VM lives: %v", err)
			}
			for _, line := range []string{"last words", "and an unfinished line"} {
				if !slices.Contains(vm.Logs(), emulator.Log{Level: 4, Message: line}) {
					t.Errorf("no line %q of standard error", line)
				}
			}
			next := do(vm, "")
			for _, r := range []*emulator.Request{r, next} {
				if failOpen {
					equal(t, "forwarded", r.Forwarded(), true)
					continue
				}
				equal(t, "status", r.Response().Headers.Get(":status"), "503")
				equal(t, "details", r.Details(), "wasm_fail_stream")
			}
			vm.Tick()
			vm.Advance(time.Hour)
			if !held.Paused() || held.Ended() {
				t.Error("the held request moved")
			}
		})
	}
}

func TestStackOverflowKills(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "overflow-the-stack")
	if err := vm.Err(); err == nil || !strings.Contains(err.Error(), "stack overflow") {
		t.Errorf("got %v", err)
	}
	equal(t, "status", r.Response().Headers.Get(":status"), "503")
}
