package framer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"pgregory.net/rapid"
)

// proxy runs the module with one buffer of each kind.
type proxy struct {
	t       testing.TB
	module  api.Module
	buffers [2][]byte
	calls   int
}

func newProxy(t testing.TB) *proxy {
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = r.Close(ctx) })
	p := &proxy{t: t}
	_, err := r.NewHostModuleBuilder("env").
		NewFunctionBuilder().WithFunc(p.get).Export("proxy_get_buffer_bytes").
		NewFunctionBuilder().WithFunc(p.set).Export("proxy_set_buffer_bytes").
		Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p.module, err = r.Instantiate(ctx, Module()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *proxy) get(ctx context.Context, m api.Module, kind, from, n, at, size uint32) uint32 {
	p.calls++
	b := p.buffers[kind]
	if from > uint32(len(b)) {
		return 2
	}
	b = b[from:min(uint32(len(b)), from+n)]
	out, err := m.ExportedFunction("proxy_on_memory_allocate").Call(ctx, uint64(len(b)))
	if err != nil {
		p.t.Fatal(err)
	}
	ok := m.Memory().Write(uint32(out[0]), b) && m.Memory().WriteUint32Le(at, uint32(out[0])) && m.Memory().WriteUint32Le(size, uint32(len(b)))
	if !ok {
		p.t.Fatal("beyond the module's memory")
	}
	return 0
}

// set replaces a buffer's beginning, which is all that a proxy lets a filter do.
func (p *proxy) set(_ context.Context, m api.Module, kind, from, n, at, size uint32) uint32 {
	p.calls++
	data, ok := m.Memory().Read(at, size)
	if !ok || from != 0 || n > uint32(len(p.buffers[kind])) {
		p.t.Fatalf("set %d from %d, %d bytes", kind, from, n)
	}
	p.buffers[kind] = append(bytes.Clone(data), p.buffers[kind][n:]...)
	return 0
}

// passes is what becomes of a piece.
func (p *proxy) passes(callback string, kind int, piece []byte) []byte {
	p.t.Helper()
	p.buffers[kind] = piece
	action, err := p.module.ExportedFunction(callback).Call(context.Background(), 2, uint64(len(piece)), 0)
	if err != nil || action[0] != 0 {
		p.t.Fatalf("%s: action %v, %v", callback, action, err)
	}
	return p.buffers[kind]
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

func TestWhatGoesOutLosesItsHeads(t *testing.T) {
	p := newProxy(t)
	rapid.Check(t, func(rt *rapid.T) {
		var piece, want []byte
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			m := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")}, rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 300_000)).Draw(rt, "bytes"))
			piece = append(piece, framed(m)...)
			want = append(want, m...)
		}
		if got := p.passes("proxy_on_request_body", requestBody, piece); !bytes.Equal(got, want) {
			rt.Fatalf("%d bytes became %d, want %d", len(piece), len(got), len(want))
		}
	})
}

func TestWhatComesInGetsAHead(t *testing.T) {
	p := newProxy(t)
	for _, n := range []int{1, 255, 256, 65_535, 65_536, 70_000, 1 << 24} {
		piece := bytes.Repeat([]byte("+"), n)
		if got := p.passes("proxy_on_response_body", responseBody, piece); !bytes.Equal(got, framed(piece)) {
			t.Errorf("%d bytes became %d: %q", n, len(got), got[:head])
		}
	}
	if got := p.passes("proxy_on_response_body", responseBody, nil); len(got) != 0 {
		t.Errorf("nothing became %q", got)
	}
}

// One message costs two calls of the proxy, and a piece that comes in one.
func TestOneMessageIsCheap(t *testing.T) {
	p := newProxy(t)
	p.passes("proxy_on_request_body", requestBody, framed([]byte("PING\r\n")))
	if p.calls != 2 {
		t.Errorf("%d calls for a message", p.calls)
	}
	p.calls = 0
	p.passes("proxy_on_response_body", responseBody, []byte("+PONG\r\n"))
	if p.calls != 1 {
		t.Errorf("%d calls for a reply", p.calls)
	}
}

// envoy.yaml has the module as it is.
func TestTheExampleHasTheModule(t *testing.T) {
	text, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := "{inline_bytes: " + base64.StdEncoding.EncodeToString(Module()) + "}"
	if !strings.Contains(string(text), want) {
		t.Errorf("envoy.yaml hasn't got %s", want)
	}
}

// What no plugin of ours sends doesn't break the filter.
func TestOtherPiecesStayAsTheyAre(t *testing.T) {
	p := newProxy(t)
	for _, piece := range []string{"", "\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x00\x02a", "\x00\x00\x00\x00\x01abc", "\x00\xff\xff\xff\xffabc", "\x00\x7f\xff\xff\xffabc", "\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x05ab"} {
		if got := p.passes("proxy_on_request_body", requestBody, []byte(piece)); string(got) != piece {
			t.Errorf("%q became %q", piece, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		p.passes("proxy_on_request_body", requestBody, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "piece"))
	})
}
