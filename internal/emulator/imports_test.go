package emulator_test

import (
	"errors"
	"slices"
	"testing"

	"sluice/internal/emulator"
)

func TestImports(t *testing.T) {
	imports, err := emulator.Imports(probe(t))
	if err != nil {
		t.Fatal(err)
	}
	if foreign := emulator.Foreign(imports); len(foreign) > 0 {
		t.Errorf("Envoy doesn't know %v", foreign)
	}
	// The probe makes every call there is.
	for _, name := range emulator.HostCallNames() {
		if !slices.Contains(imports, emulator.Import{Module: "env", Name: name}) {
			t.Errorf("the probe doesn't import %s", name)
		}
	}
}

func TestForeignImports(t *testing.T) {
	list := []emulator.Import{
		{Module: "env", Name: "proxy_log"},
		{Module: "wasi_snapshot_preview1", Name: "fd_write"},
		{Module: "wasi_snapshot_preview1", Name: "fd_readdir"},
		{Module: "env", Name: "proxy_redis_call"},
		{Module: "other", Name: "proxy_log"},
	}
	got := emulator.Foreign(list)
	if !slices.Equal(got, list[2:]) {
		t.Errorf("got %v", got)
	}
}

// A module that only imports and exports, by hand: one function that it wants,
// of type 0, and the exports that a host looks for.
func TestLoadRefuses(t *testing.T) {
	stray := []byte{
		0, 'a', 's', 'm', 1, 0, 0, 0,
		1, 4, 1, 0x60, 0, 0, // types: func()
		2, 9, 1, 3, 'e', 'n', 'v', 1, 'x', 0, 0, // imports: env.x
	}
	for name, c := range map[string]struct {
		wasm []byte
		is   error
	}{
		"no module":      {[]byte("no module"), nil},
		"empty":          {nil, nil},
		"a stray import": {stray, emulator.ErrImports},
		"no exports":     {stray[:14], nil},
	} {
		_, err := emulator.Load(c.wasm)
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := emulator.Imports([]byte("no module")); err == nil {
		t.Error("imports of no module")
	}
	got, err := emulator.Imports(stray)
	if err != nil || !slices.Equal(got, []emulator.Import{{Module: "env", Name: "x"}}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The probe exports every callback that packages goabi and below offer.
func TestExports(t *testing.T) {
	m, err := emulator.Load(probe(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"proxy_abi_version_0_2_1", "proxy_on_memory_allocate", "proxy_on_vm_start",
		"proxy_on_context_create", "proxy_on_configure", "proxy_on_tick",
		"proxy_on_request_headers", "proxy_on_request_body", "proxy_on_request_trailers",
		"proxy_on_response_headers", "proxy_on_response_body", "proxy_on_response_trailers",
		"proxy_on_http_call_response", "proxy_on_grpc_receive", "proxy_on_grpc_close",
		"proxy_on_grpc_receive_initial_metadata", "proxy_on_grpc_receive_trailing_metadata",
		"proxy_on_queue_ready", "proxy_on_new_connection", "proxy_on_downstream_data",
		"proxy_on_upstream_data", "proxy_on_downstream_connection_close",
		"proxy_on_upstream_connection_close", "proxy_on_log", "proxy_on_done", "proxy_on_delete",
	} {
		if !m.Exports(name) {
			t.Errorf("%s isn't exported", name)
		}
	}
}
