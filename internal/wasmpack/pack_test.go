package wasmpack_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"sluice/internal/wasmpack"
)

// piece is what a module's memory has at an address.
type piece struct {
	address int
	bytes   []byte
}

// assemble makes a module with these pieces of data, so many pages of memory, and
// a function that does nothing.
func assemble(pages int, pieces []piece) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body []byte) {
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	section(1, []byte{1, 0x60, 0, 0})
	section(2, []byte{0})
	section(3, []byte{1, 0})
	section(5, []byte{1, 0, byte(pages)})
	section(7, append([]byte{2, 6}, "memory\x02\x00\x03run\x00\x00"...))
	section(9, []byte{0})
	section(10, []byte{1, 2, 0, 0x0b})
	data := binary.AppendUvarint(nil, uint64(len(pieces)))
	for _, p := range pieces {
		data = append(data, 0, 0x41)
		// Five bytes always hold an address.
		for shift := 0; shift < 28; shift += 7 {
			data = append(data, byte(p.address>>shift)|0x80)
		}
		data = append(data, 0, 0x0b)
		data = binary.AppendUvarint(data, uint64(len(p.bytes)))
		data = append(data, p.bytes...)
	}
	section(11, data)
	return out
}

// memory runs a module and returns what its memory has then.
func memory(t interface{ Fatal(...any) }, module []byte) []byte {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("run").Call(ctx); err != nil {
		t.Fatal(err)
	}
	b, ok := m.ExportedMemory("memory").Read(0, m.ExportedMemory("memory").Size())
	if !ok {
		t.Fatal("memory can't be read")
	}
	return bytes.Clone(b)
}

// samePacked checks that a module has the same memory when it is packed.
func samePacked(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, module []byte) (packed []byte) {
	packed, err := wasmpack.Pack(module)
	if err != nil {
		t.Fatal(err)
	}
	want, got := memory(t, module), memory(t, packed)
	if len(got) < len(want) {
		t.Fatalf("%d bytes of memory, want %d", len(got), len(want))
	}
	for i, b := range got {
		if i < len(want) && b != want[i] || i >= len(want) && b != 0 {
			t.Fatalf("memory differs at %d of %d", i, len(want))
		}
	}
	return packed
}

func TestPackedMemoryIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pages = 3
		// Few different bytes and long runs, as in a real module.
		some := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 1, 300),
			rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2}), 1, 2000),
			rapid.Map(rapid.Byte(), func(b byte) []byte { return bytes.Repeat([]byte{b, 0, 0, 0, b}, 200) }),
		)
		var pieces []piece
		for at := rapid.IntRange(0, 5000).Draw(t, "begin"); len(pieces) < 40; {
			b := some.Draw(t, "bytes")
			if at+len(b) > pages<<16 {
				break
			}
			pieces = append(pieces, piece{at, b})
			at += len(b) + rapid.IntRange(0, 5000).Draw(t, "gap")
		}
		samePacked(t, assemble(pages, pieces))
	})
}

// Memory that data fills to the last byte grows for the packed form.
func TestPackedMemoryGrows(t *testing.T) {
	noise := make([]byte, 1<<16)
	x := uint32(1)
	for i := range noise {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		noise[i] = byte(x)
	}
	samePacked(t, assemble(1, []piece{{0, noise}}))
}

func TestRegularDataShrinks(t *testing.T) {
	// What Go's linker writes of its table of functions: a number in each 20 bytes.
	var pieces []piece
	for i := range 5000 {
		pieces = append(pieces, piece{20 * i, []byte{byte(i / 16), byte(i / 16 >> 8), 1}})
	}
	module := assemble(2, pieces)
	packed := samePacked(t, module)
	if len(packed)*10 > len(module) {
		t.Errorf("%d bytes packed are still %d", len(module), len(packed))
	}
}

func TestRefused(t *testing.T) {
	good := assemble(1, []piece{{0, []byte("text")}})
	packed, err := wasmpack.Pack(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, module := range map[string][]byte{
		"nothing":        nil,
		"another format": []byte("\x7fELF............"),
		"cut":            good[:len(good)-3],
		"no sections":    good[:8],
		"no data":        assemble(1, nil),
		"packed already": packed,
	} {
		if _, err := wasmpack.Pack(module); err == nil {
			t.Errorf("%s was packed", name)
		}
	}
}

// No module, however broken, makes it panic.
func FuzzPack(f *testing.F) {
	f.Add(assemble(1, []piece{{0, []byte("text")}, {100, []byte("more")}}))
	f.Fuzz(func(t *testing.T, module []byte) {
		_, _ = wasmpack.Pack(module)
	})
}
