// Package moduletest runs the compiled plugin in the emulator: what a proxy
// would load, with a real Redis behind its stream, one callback at a time.
package moduletest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/emulator"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// release is the module as it is shipped.
func release(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(stacktest.Module(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// faulty builds the module with the tag faults, in which a request can ask for a
// panic, and which counts its allocations.
var faulty = sync.OnceValues(func() ([]byte, error) {
	root, err := stack.Root()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-faults-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "faults.wasm")
	cmd := exec.Command("go", "build", "-tags", "faults", "-buildmode=c-shared",
		"-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the module with faults: %w\n%s", err, b)
	}
	return os.ReadFile(out)
})

func withFaults(t testing.TB) []byte {
	t.Helper()
	b, err := faulty()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// get is a GET of a path with more headers.
func get(path string, more ...string) emulator.Headers {
	h := emulator.Headers{{":method", "GET"}, {":path", path}, {":authority", "example.com"}}
	for i := 0; i < len(more); i += 2 {
		h = append(h, [2]string{more[i], more[i+1]})
	}
	return h
}

// start runs the module with a stream to a Redis.
func start(t testing.TB, wasm []byte, r *stack.Redis, config string) *emulator.VM {
	t.Helper()
	return emulator.Start(t, wasm, emulator.Config{
		Plugin: config, RealTime: true, Bridges: map[string]string{"redis_pipe": r.Addr},
	})
}

// settled waits until a request went on or was answered.
func settled(t testing.TB, vm *emulator.VM, r *emulator.Request) {
	t.Helper()
	if !vm.PumpUntil(5*time.Second, func() bool { return r.Forwarded() || r.LocalReply() != nil }) {
		t.Fatal("the request is still held")
	}
}

func status(r *emulator.Request) string {
	if l := r.LocalReply(); l != nil {
		return fmt.Sprint(l.Status)
	}
	return "passed"
}

func TestFiveOfSevenByARealRedis(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := start(t, release(t), redis, `{"redis":{"timeout":"2s"},"limits":[{"name":"a","key":"header:x-user","rate":"5/min"}]}`)
	var got []string
	for range 7 {
		r := vm.Request(get("/", "x-user", "u1"))
		settled(t, vm, r)
		got = append(got, status(r))
		if r.Forwarded() {
			r.Respond(emulator.Headers{{":status", "200"}}, nil)
			if v := r.Response().Headers.Get("ratelimit"); !strings.HasPrefix(v, `"a";r=`) {
				t.Errorf("ratelimit: %q", v)
			}
		}
		r.Done()
	}
	if s := strings.Join(got, " "); s != "passed passed passed passed passed 429 429" {
		t.Error(s)
	}
}

// Envoys back to 1.33 know 18 WASI functions; a module that imports another one
// doesn't load there.
func TestImportsAreThoseOfOldProxies(t *testing.T) {
	imports, err := emulator.Imports(release(t))
	if err != nil {
		t.Fatal(err)
	}
	if foreign := emulator.Foreign(imports); len(foreign) > 0 {
		t.Errorf("the module imports what old proxies lack: %v", foreign)
	}
	if len(imports) < 20 {
		t.Errorf("only %d imports: the test lost its grip", len(imports))
	}
}

// A panic in any callback settles the request by on_error and harms no other.
func TestPanicInEachCallback(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	for _, onError := range []string{"allow", "deny"} {
		vm := start(t, withFaults(t), redis, `{"redis":{"timeout":"2s"},"limits":[{"name":"`+onError+`","rate":"100/min","on_error":"`+onError+`"}],"on_error":"`+onError+`"}`)
		panics := int64(0)
		for _, point := range []string{"request", "reply", "response"} {
			before := vm.Request(get("/"))
			r := vm.Request(get("/", "x-sluice-fault", point))
			after := vm.Request(get("/"))
			want := "passed"
			if onError == "deny" && point != "response" {
				want = "503"
			}
			settled(t, vm, r)
			if got := status(r); got != want {
				t.Errorf("%s, %s: %s, want %s", onError, point, got, want)
			}
			if r.Forwarded() {
				r.Respond(emulator.Headers{{":status", "200"}}, nil)
				if s := r.Response().Headers.Get(":status"); s != "200" {
					t.Errorf("%s, %s: the response is %q", onError, point, s)
				}
			}
			panics++
			if n := vm.Metric("sluice_panics_total"); n != panics {
				t.Errorf("%s, %s: %d panics counted, want %d", onError, point, n, panics)
			}
			for _, x := range []*emulator.Request{before, after} {
				settled(t, vm, x)
				if got := status(x); got != "passed" {
					t.Errorf("%s, %s: another request: %s", onError, point, got)
				}
				x.Done()
			}
			r.Done()
		}
		if err := vm.Err(); err != nil {
			t.Fatalf("the VM died: %v", err)
		}
	}
}

func TestBadConfigurationKeepsTheRunningOne(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := start(t, release(t), redis, `{"redis":{"timeout":"2s"},"limits":[{"name":"a","rate":"1/min"}]}`)
	first := vm.Request(get("/"))
	settled(t, vm, first)
	first.Done()
	if vm.Reconfigure(`{"limits":[{"name":"a","rate":"x"}]}`) {
		t.Fatal("a wrong configuration was accepted")
	}
	second := vm.Request(get("/"))
	settled(t, vm, second)
	if got := status(second); got != "429" {
		t.Errorf("the running configuration is gone: %s", got)
	}
	second.Done()
	if !vm.Reconfigure(`{"redis":{"timeout":"2s"},"limits":[{"name":"a","rate":"2/min"}]}`) {
		t.Fatal("a right configuration was refused")
	}
	third := vm.Request(get("/"))
	settled(t, vm, third)
	if got := status(third); got != "passed" {
		t.Errorf("with one more a minute: %s", got)
	}
	third.Done()
	if n := vm.RootContexts(); n != 1 {
		t.Errorf("%d configurations live", n)
	}
}
