package tinywasm

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The modules are valid, and answer what they say.
func TestModule(t *testing.T) {
	for _, status := range []int{0, 429} {
		ctx := t.Context()
		r := wazero.NewRuntime(ctx)
		defer r.Close(ctx)
		var sent []int32
		_, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().
			WithFunc(func(_ context.Context, status, _, _, _, _, _, _, grpc int32) int32 {
				sent = append(sent, status, grpc)
				return 0
			}).Export("proxy_send_local_response").Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.Instantiate(ctx, Module(status))
		if err != nil {
			t.Fatal(err)
		}
		call := func(name string, args ...uint64) []uint64 {
			out, err := m.ExportedFunction(name).Call(ctx, args...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return out
		}
		call("proxy_abi_version_0_2_1")
		call("proxy_on_context_create", 1, 0)
		if p := call("proxy_on_memory_allocate", 100); api.DecodeI32(p[0]) == 0 {
			t.Error("no memory is given")
		}
		action := call("proxy_on_request_headers", 2, 5, 1)[0]
		switch {
		case status == 0 && (action != actionContinue || len(sent) > 0):
			t.Errorf("action %d, sent %v", action, sent)
		case status != 0 && (action != actionPause || len(sent) != 2 || sent[0] != 429 || sent[1] != -1):
			t.Errorf("action %d, sent %v", action, sent)
		}
	}
}

func TestSigned(t *testing.T) {
	for v, want := range map[int]string{0: "\x00", 63: "\x3f", 64: "\xc0\x00", -1: "\x7f", -64: "\x40", -65: "\xbf\x7f", 1024: "\x80\x08"} {
		if got := string(signed(v)); got != want {
			t.Errorf("%d is %x, want %x", v, got, want)
		}
	}
}
