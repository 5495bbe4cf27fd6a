package tinywasm

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// The module makes the calls that it is for, with texts that are what they say.
func TestCalls(t *testing.T) {
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	var got []string
	text := func(m api.Module, at, n uint32) string {
		b, ok := m.Memory().Read(at, n)
		if !ok {
			t.Fatalf("no memory at %d, %d", at, n)
		}
		return string(b)
	}
	set := func(what string) func(context.Context, api.Module, uint32, uint32, uint32, uint32, uint32) int32 {
		return func(_ context.Context, m api.Module, kind, n, ns, v, vs uint32) int32 {
			got = append(got, fmt.Sprintf("%s %d %s: %s", what, kind, text(m, n, ns), text(m, v, vs)))
			return 0
		}
	}
	b := r.NewHostModuleBuilder("env")
	b.NewFunctionBuilder().WithFunc(func(_ context.Context, kind, _, _ uint32) int32 {
		got = append(got, fmt.Sprintf("pairs %d", kind))
		return 0
	}).Export("proxy_get_header_map_pairs")
	b.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, kind, n, ns, _, _ uint32) int32 {
		got = append(got, fmt.Sprintf("get %d %s", kind, text(m, n, ns)))
		return 1
	}).Export("proxy_get_header_map_value")
	b.NewFunctionBuilder().WithFunc(set("add")).Export("proxy_add_header_map_value")
	b.NewFunctionBuilder().WithFunc(set("replace")).Export("proxy_replace_header_map_value")
	b.NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, n, ns, v, vs uint32) int32 {
		got = append(got, fmt.Sprintf("property %s: %s", text(m, n, ns), text(m, v, vs)))
		return 0
	}).Export("proxy_set_property")
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := r.Instantiate(ctx, Calls())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []uint64
		want uint64
	}{
		{"proxy_on_request_headers", []uint64{2, 5, 1}, actionContinue},
		{"proxy_on_response_headers", []uint64{2, 5, 1}, actionContinue},
		{"proxy_on_done", []uint64{2}, 1},
	} {
		out, err := m.ExportedFunction(c.name).Call(ctx, c.args...)
		if err != nil || out[0] != c.want {
			t.Errorf("%s returns %v, %v", c.name, out, err)
		}
	}
	want := []string{"pairs 0"}
	for _, p := range properties {
		want = append(want, "property "+p.name+": "+p.value)
	}
	want = append(want, "get 2 x-ratelimit-remaining")
	for _, h := range appended {
		want = append(want, "add 2 "+h.name+": "+h.value)
	}
	for _, h := range replaced {
		want = append(want, "replace 2 "+h.name+": "+h.value)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
