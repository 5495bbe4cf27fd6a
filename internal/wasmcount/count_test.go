package wasmcount

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"sluice/internal/wasmpack"
)

// loopModule exports f(n): a loop of n rounds over an i32, and a global. Each
// round is local.get, i32.const, i32.sub, local.tee, br_if: 5 instructions; after
// it comes local.get.
var loopModule = wasmpack.Join([]wasmpack.Section{
	{ID: wasmpack.TypeSection, Body: []byte{1, 0x60, 1, 0x7f, 1, 0x7f}},
	{ID: wasmpack.FunctionSection, Body: []byte{1, 0}},
	{ID: wasmpack.GlobalSection, Body: []byte{1, 0x7f, 1, 0x41, 0, 0x0b}},
	{ID: wasmpack.ExportSection, Body: []byte{1, 1, 'f', 0, 0}},
	{ID: wasmpack.CodeSection, Body: []byte{1, 16, 0, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 0, 0x0b}},
})

func TestCount(t *testing.T) {
	total, err := Total(loopModule)
	if err != nil {
		t.Fatal(err)
	}
	each, err := EachFunction(loopModule)
	if err != nil {
		t.Fatal(err)
	}
	for name, wasm := range map[string][]byte{Name: total, FunctionName(0): each} {
		ctx := context.Background()
		r := wazero.NewRuntime(ctx)
		defer r.Close(ctx)
		m, err := r.Instantiate(ctx, wasm)
		if err != nil {
			t.Fatal(err)
		}
		for i, rounds := range []uint64{1, 200} {
			got, err := m.ExportedFunction("f").Call(ctx, rounds)
			if err != nil || got[0] != 0 {
				t.Fatalf("%v, %v", got, err)
			}
			want := 5*rounds + 1
			if i == 1 {
				want += 6
			}
			if n := m.ExportedGlobal(name).Get(); n != want {
				t.Errorf("%s is %d, want %d", name, n, want)
			}
		}
	}
}

func TestNoModule(t *testing.T) {
	if _, err := Total([]byte("no module")); err == nil {
		t.Error("taken for a module")
	}
	for n := range len(loopModule) - 1 {
		if _, err := Total(loopModule[:n+1]); err == nil && n > 8 {
			// Cut between two sections it may be whole.
			if _, err := wasmpack.Sections(loopModule[:n+1]); err != nil {
				t.Errorf("cut at %d: no error", n+1)
			}
		}
	}
}

func TestUnknownInstructions(t *testing.T) {
	for _, op := range []byte{0x06, 0x12, 0xd0, 0xfd, 0xff} {
		if _, err := count(nil, &wasmpack.Reader{B: []byte{op, 0x0b}}, 0); err == nil {
			t.Errorf("0x%x is known", op)
		}
	}
}
