package emulator_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/emulator"
)

var buildProbe = sync.OnceValues(func() ([]byte, error) {
	return emulator.Build("./testdata/probe")
})

// probe is the compiled module that does what its requests say.
func probe(t testing.TB) []byte {
	t.Helper()
	wasm, err := buildProbe()
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// start runs the probe.
func start(t testing.TB, c emulator.Config) *emulator.VM {
	t.Helper()
	return emulator.Start(t, probe(t), c)
}

// startAlone runs the probe without failing the test for what it does wrong.
func startAlone(t testing.TB) *emulator.VM {
	t.Helper()
	m, err := emulator.Load(probe(t))
	if err != nil {
		t.Fatal(err)
	}
	vm, err := m.Start(emulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vm.Close)
	return vm
}

// request is a plain request that tells the probe what to do.
func request(more ...[2]string) emulator.Headers {
	return append(emulator.Headers{
		{":method", "GET"}, {":path", "/a?b=1"}, {":authority", "a.test"}, {":scheme", "http"},
	}, more...)
}

// do sends a request with one field of operations for the request's headers.
func do(vm *emulator.VM, ops string, o ...emulator.Option) *emulator.Request {
	return vm.Request(request([2]string{"x-op", ops}), o...)
}

// found returns the last result that the probe logged for an operation, "none"
// when it logged none.
func found(vm *emulator.VM, op string) string {
	logs := vm.Logs()
	for i := len(logs) - 1; i >= 0; i-- {
		if logs[i].Level == 2 {
			if v, ok := strings.CutPrefix(logs[i].Message, op+": "); ok {
				return v
			}
		}
	}
	return "none"
}

// callbacks lists the callbacks that the probe noted from a point in its log on.
func callbacks(vm *emulator.VM, from int) []string {
	var list []string
	for _, l := range vm.Logs()[from:] {
		if l.Level == 1 {
			list = append(list, l.Message)
		}
	}
	return list
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	switch g := got.(type) {
	case []string:
		if !slices.Equal(g, want.([]string)) {
			t.Errorf("%s:\n got %q\nwant %q", what, g, want)
		}
	default:
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
}
