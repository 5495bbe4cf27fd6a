package emulator_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/internal/emulator"
)

func TestStartCallbacks(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "conf", VM: "vmconf"})
	equal(t, "callbacks", callbacks(vm, 0), []string{
		"proxy_on_context_create 1",
		"proxy_on_vm_start 6",
		"proxy_on_configure 1 4",
	})
}

func TestRefusedStart(t *testing.T) {
	m, err := emulator.Load(probe(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]emulator.Config{
		"vm says no":        {VM: "fail"},
		"vm panics":         {VM: "panic"},
		"configure says no": {Plugin: "fail"},
		"configure panics":  {Plugin: "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			vm, err := m.Start(c)
			if !errors.Is(err, emulator.ErrStart) {
				t.Fatalf("got error %v", err)
			}
			defer vm.Close()
			if vm.Err() != nil {
				t.Errorf("the VM died: %v", vm.Err())
			}
		})
	}
}

func TestRequestThrough(t *testing.T) {
	vm := start(t, emulator.Config{})
	from := len(vm.Logs())
	r := vm.Request(request([2]string{"x-a", "1"}, [2]string{"x-a", "2"}), emulator.Body([]byte("hello")))
	if !r.Forwarded() || r.Paused() || r.Resumed() || r.Ended() {
		t.Fatalf("forwarded %v paused %v resumed %v ended %v", r.Forwarded(), r.Paused(), r.Resumed(), r.Ended())
	}
	equal(t, "upstream's body", string(r.Upstream().Body), "hello")
	equal(t, "upstream's x-a", r.Upstream().Headers.Values("x-a"), []string{"1", "2"})
	r.RespondHeaders(emulator.Headers{{":status", "200"}}, false)
	r.RespondBody([]byte("world"), false)
	r.RespondTrailers(emulator.Headers{{"x-t", "1"}})
	if !r.Ended() || !r.Response().Complete {
		t.Fatal("the request isn't over")
	}
	equal(t, "client's body", string(r.Response().Body), "world")
	equal(t, "client's trailer", r.Response().Trailers.Get("x-t"), "1")
	equal(t, "callbacks", callbacks(vm, from), []string{
		"proxy_on_context_create 2 1",
		"proxy_on_request_headers 2 6 0",
		"proxy_on_request_body 2 5 1",
		"proxy_on_response_headers 2 1 0",
		"proxy_on_response_body 2 5 0",
		"proxy_on_response_trailers 2 1",
		"proxy_on_log 2",
	})
}

func TestEnvironment(t *testing.T) {
	vm := start(t, emulator.Config{Env: map[string]string{"REDIS_PASSWORD": "a=b c", "OTHER": "x"}})
	do(vm, "env,REDIS_PASSWORD")
	equal(t, "env", found(vm, "env"), "0 a=b c|a=b c")
	do(vm, "env,HOME")
	equal(t, "env", found(vm, "env"), "0 |")
}

// While a module initialises it may log, and little else.
func TestCallDuringInitialize(t *testing.T) {
	wasm, err := emulator.Build("./testdata/probe", "early")
	if err != nil {
		t.Fatal(err)
	}
	m, err := emulator.Load(wasm)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := m.Start(emulator.Config{})
	if err == nil || !strings.Contains(err.Error(), "proxy_get_current_time_nanoseconds is not allowed here") {
		t.Errorf("got %v", err)
	}
	vm.Close()
}

func TestEmptyBody(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "", emulator.Body(nil))
	if !r.Upstream().Complete {
		t.Error("not complete")
	}
	r.Respond(emulator.Headers{{":status", "204"}}, nil)
	if !r.Ended() {
		t.Error("not over")
	}
}
