package redisproto

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	i := func(n int64) Value { return Value{Kind: Integer, Int: n} }
	s := func(k Kind, s string) Value { return Value{Kind: k, Str: []byte(s)} }
	arr := func(vs ...Value) Value { return Value{Kind: Array, Elems: vs} }
	null := Value{Kind: Null}
	for _, c := range []struct {
		in   string
		want []Value
	}{
		{"", nil},
		{"+OK\r\n", []Value{s(SimpleString, "OK")}},
		{"+\r\n", []Value{s(SimpleString, "")}},
		{"-ERR no: x\r\n", []Value{s(Error, "ERR no: x")}},
		{":0\r\n:-0\r\n:007\r\n:+7\r\n:-12\r\n", []Value{i(0), i(0), i(7), i(7), i(-12)}},
		{":9223372036854775807\r\n:-9223372036854775808\r\n", []Value{i(math.MaxInt64), i(math.MinInt64)}},
		{"$-1\r\n*-1\r\n", []Value{null, null}},
		{"$0\r\n\r\n", []Value{s(Bulk, "")}},
		{"$4\r\n\r\n\r\n\r\n", []Value{s(Bulk, "\r\n\r\n")}},
		{"*0\r\n", []Value{arr()}},
		{"*2\r\n*0\r\n*1\r\n*0\r\n:1\r\n", []Value{arr(arr(), arr(arr())), i(1)}},
		{"*3\r\n*2\r\n:1\r\n:2\r\n$-1\r\n*2\r\n+a\r\n*1\r\n:3\r\n", []Value{
			arr(arr(i(1), i(2)), null, arr(s(SimpleString, "a"), arr(i(3)))),
		}},
		{"*1\r\n-NOSCRIPT x\r\n", []Value{arr(s(Error, "NOSCRIPT x"))}},
		{"+OK\r\n*2\r\n:1\r\n", []Value{s(SimpleString, "OK")}}, // the rest is incomplete
	} {
		for name, cut := range map[string]func(int) int{"whole": whole, "byte by byte": single} {
			got, err := decodeAll(Limits{}, []byte(c.in), cut)
			if err != nil || !equalAll(got, c.want) {
				t.Errorf("%q %s: got %v, %v, want %v", c.in, name, got, err, c.want)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for in, want := range map[string]DecodeError{
		"\r\n":                          ErrType,
		"OK\r\n":                        ErrType,
		"HTTP/1.1 400 Bad Request\r\n":  ErrType,
		"\x00":                          ErrType,
		"_\r\n":                         ErrType, // RESP3
		"%1\r\n":                        ErrType,
		"*1\r\n!":                       ErrType,
		":\r\n":                         ErrNumber,
		":-\r\n":                        ErrNumber,
		":--1\r\n":                      ErrNumber,
		":1.0\r\n":                      ErrNumber,
		":1 \r\n":                       ErrNumber,
		": 1\r\n":                       ErrNumber,
		":0x1\r\n":                      ErrNumber,
		":9223372036854775808\r\n":      ErrNumber,
		":-9223372036854775809\r\n":     ErrNumber,
		":99999999999999999999\r\n":     ErrNumber,
		":18446744073709551617\r\n":     ErrNumber,
		":000000000000000000000":        ErrNumber,
		"$\r\n":                         ErrNumber,
		"$-2\r\n":                       ErrNumber,
		"$-01\r\n":                      ErrNumber,
		"$-0\r\n":                       ErrNumber,
		"$+1\r\n":                       ErrNumber,
		"*-2\r\n":                       ErrNumber,
		"*a\r\n":                        ErrNumber,
		"*9223372036854775808\r\n":      ErrNumber,
		":1\n":                          ErrTerminator,
		":1\rx":                         ErrTerminator,
		":1\r\r\n":                      ErrTerminator,
		"+OK\n":                         ErrTerminator,
		"+a\rb\r\n":                     ErrTerminator,
		"-a\nb\r\n":                     ErrTerminator,
		"$1\r\nab\r\n":                  ErrTerminator,
		"$1\r\na\n\r":                   ErrTerminator,
		"$1\r\na\r\r":                   ErrTerminator,
		"$2\r\na\r\n+":                  ErrTerminator,
		"*9223372036854775807\r\n":      ErrElems,
		"*2\r\n*65536\r\n":              ErrElems,
		"$9223372036854775807\r\n":      ErrSize,
		"$1048577\r\n":                  ErrSize,
		strings.Repeat("*1\r\n", 9):     ErrDepth,
		strings.Repeat("*1\r\n", 1<<16): ErrDepth,
	} {
		for name, cut := range map[string]func(int) int{"whole": whole, "byte by byte": single} {
			vs, err := decodeAll(Limits{}, []byte("+before\r\n"+in), cut)
			if !errors.Is(err, want) {
				t.Errorf("%.40q %s: got error %v, want %v", in, name, err, want)
			}
			if len(vs) != 1 {
				t.Errorf("%.40q %s: %d replies came before the error, want 1", in, name, len(vs))
			}
		}
	}
}

func TestErrorIsSticky(t *testing.T) {
	d := NewDecoder(Limits{})
	d.Feed([]byte("+a\r\n?"))
	if vs, err := drain(d, nil); len(vs) != 1 || err != ErrType {
		t.Fatalf("got %v, %v, want one reply and %v", vs, err, ErrType)
	}
	for range 3 {
		d.Feed([]byte("+b\r\n"))
		if v, ok, err := d.Next(); ok || err != ErrType {
			t.Fatalf("after an error: got %v, %v, %v", v, ok, err)
		}
	}
	if len(d.buf) != 0 {
		t.Errorf("%d bytes are kept after an error", len(d.buf))
	}
	d.Reset()
	d.Feed([]byte("+b\r\n"))
	if vs, err := drain(d, nil); err != nil || len(vs) != 1 || string(vs[0].Str) != "b" {
		t.Errorf("after Reset: got %v, %v", vs, err)
	}
}

func TestResetForgetsAPartialReply(t *testing.T) {
	full := "*3\r\n$3\r\nabc\r\n+line\r\n*1\r\n:123\r\n"
	for n := range full {
		d := NewDecoder(Limits{})
		d.Feed([]byte(full[:n]))
		if vs, err := drain(d, nil); err != nil || len(vs) != 0 {
			t.Fatalf("%d bytes of a reply: got %v, %v", n, vs, err)
		}
		d.Reset()
		d.Feed([]byte(full))
		if vs, err := drain(d, nil); err != nil || len(vs) != 1 || len(vs[0].Elems) != 3 {
			t.Fatalf("Reset after %d bytes: got %v, %v", n, vs, err)
		}
	}
}

func TestZeroDecoder(t *testing.T) {
	var d Decoder
	if v, ok, err := d.Next(); ok || err != nil {
		t.Fatalf("got %v, %v, %v", v, ok, err)
	}
	d.Feed([]byte(":1\r\n"))
	if v, ok, err := d.Next(); !ok || err != nil || v.Int != 1 {
		t.Fatalf("got %v, %v, %v", v, ok, err)
	}
}

func TestLimits(t *testing.T) {
	l := Limits{MaxDepth: 2, MaxElems: 5, MaxBulk: 10, MaxBuffered: 40}
	for _, c := range []struct {
		in   string
		want error
	}{
		{"*1\r\n*1\r\n:1\r\n", nil},
		{"*1\r\n*1\r\n*0\r\n", ErrDepth},
		{"*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", nil},
		{"*6\r\n", ErrElems},
		{"*2\r\n*3\r\n:1\r\n:1\r\n:1\r\n:1\r\n", nil},
		{"*2\r\n*4\r\n", ErrElems},
		{"*2\r\n*2\r\n:1\r\n:1\r\n*2\r\n", ErrElems},
		{"$10\r\n0123456789\r\n", nil},
		{"$11\r\n", ErrSize},
		{"+0123456789\r\n", nil},
		{"+01234567891", ErrSize},
		{"+01234567891\r\n", ErrSize},
		// 34 bytes, then the rest of the 40, or one more.
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n+abc\r\n", nil},
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n+abcd\r\n", ErrSize},
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n:123\r\n", nil},
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n:1234\r\n", ErrSize},
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n$0\r\n\r\n", nil},
		{"*3\r\n$10\r\n0123456789\r\n+0123456789\r\n$1\r\n", ErrSize},
		// The limit is a reply's, not the stream's.
		{strings.Repeat("$10\r\n0123456789\r\n", 10), nil},
	} {
		for name, cut := range map[string]func(int) int{"whole": whole, "byte by byte": single} {
			if _, err := decodeAll(l, []byte(c.in), cut); err != c.want {
				t.Errorf("%q %s: got error %v, want %v", c.in, name, err, c.want)
			}
		}
	}
}

func TestFeedingWithoutTakingOutIsBounded(t *testing.T) {
	d := NewDecoder(Limits{MaxBuffered: 100})
	p := []byte(strings.Repeat(":1\r\n", 50))
	for range 100 {
		d.Feed(p)
	}
	if _, _, err := d.Next(); err != ErrUndrained {
		t.Errorf("got error %v, want %v", err, ErrUndrained)
	}
	if cap(d.buf) > 4*len(p) {
		t.Errorf("%d bytes are kept", cap(d.buf))
	}
}

// An announced size is not memory until the bytes are there.
func TestHeadersReserveNothing(t *testing.T) {
	d := NewDecoder(Limits{})
	d.Feed([]byte("*60000\r\n*5000\r\n$1000000\r\n"))
	if _, ok, err := d.Next(); ok || err != nil {
		t.Fatalf("got %v, %v, want an incomplete reply", ok, err)
	}
	if cap(d.buf) > 1024 || cap(d.nodes) > 64 || cap(d.vals) > 64 {
		t.Errorf("kept %d bytes, %d nodes, %d values for three headers", cap(d.buf), cap(d.nodes), cap(d.vals))
	}
}

// randomReply is often one of a script, for one request or for several.
func randomReply(r *rand.Rand) Value {
	numbers := func() Value {
		v := Value{Kind: Array}
		for range 1 + r.IntN(8) {
			v.Elems = append(v.Elems, Value{Kind: Integer, Int: int64(r.Uint64()>>r.IntN(64)) * int64(1-2*r.IntN(2))})
		}
		return v
	}
	switch r.IntN(3) {
	case 0:
		return numbers()
	case 1:
		v := Value{Kind: Array}
		for range 1 + r.IntN(5) {
			v.Elems = append(v.Elems, numbers())
		}
		if r.IntN(4) == 0 {
			v.Elems[r.IntN(len(v.Elems))] = randomValue(r, 2)
		}
		return v
	}
	return randomValue(r, 4)
}

// What scripts reply is decoded in one pass.
func TestScriptsRepliesTakeOnePass(t *testing.T) {
	for _, reply := range []string{
		"*3\r\n:1\r\n:-22\r\n:1764498000123456\r\n",
		"*2\r\n*2\r\n:1764498000123456\r\n:1\r\n*3\r\n:0\r\n:-1\r\n:5\r\n",
		"*1\r\n*1\r\n:7\r\n",
	} {
		d := NewDecoder(Limits{})
		d.Feed([]byte(reply + ":9\r\n"))
		v, ok := d.integers()
		if !ok || string(appendValue(nil, v)) != reply {
			t.Errorf("%q: %v, %v", reply, v, ok)
		}
		if v, ok, err := d.Next(); !ok || err != nil || v.Int != 9 {
			t.Errorf("%q: then %v, %v, %v", reply, v, ok, err)
		}
	}
}

func TestRandomRepliesSurviveAnySplit(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var want []Value
		var stream []byte
		for range 1 + r.IntN(6) {
			v := randomReply(r)
			want = append(want, v)
			stream = appendValue(stream, v)
		}
		for _, cut := range []func(int) int{whole, single, random(r), random(r)} {
			got, err := decodeAll(Limits{}, stream, cut)
			if err != nil || !equalAll(got, want) {
				t.Fatalf("seed %d, stream %q: got %v, %v, want %v", seed, stream, got, err, want)
			}
		}
	}
}

// Truncating or corrupting a stream must give the same outcome however it is
// cut, and the replies before the damage as they were.
func TestDamagedStreamsSurviveAnySplit(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := Limits{MaxDepth: 1 + r.IntN(4), MaxElems: 1 + r.IntN(12), MaxBulk: 1 + r.IntN(20), MaxBuffered: 1 + r.IntN(80)}
		var stream []byte
		for range 1 + r.IntN(4) {
			stream = appendValue(stream, randomReply(r))
		}
		for range r.IntN(3) {
			stream[r.IntN(len(stream))] = "\r\n0-:$*+9x"[r.IntN(10)]
		}
		want, wantErr := decodeAll(l, stream, whole)
		for _, cut := range []func(int) int{single, random(r), random(r)} {
			got, err := decodeAll(l, stream, cut)
			if err != wantErr || !equalAll(got, want) {
				t.Fatalf("seed %d, stream %q: got %v, %v, at once %v, %v", seed, stream, got, err, want, wantErr)
			}
		}
	}
}

// A reply that arrives byte by byte must not be parsed from its start each time.
func TestParsingResumes(t *testing.T) {
	d := NewDecoder(Limits{})
	incomplete := func() {
		t.Helper()
		if _, ok, err := d.Next(); ok || err != nil {
			t.Fatalf("a reply or an error (%v) out of a part of one", err)
		}
	}
	d.Feed([]byte("*2\r\n"))
	incomplete()
	if d.pos != 4 {
		t.Fatalf("the header was not consumed: at byte %d", d.pos)
	}
	d.Feed([]byte("+" + strings.Repeat("x", 5000)))
	incomplete()
	if d.look != 4+1+5000 {
		t.Errorf("the search for the line's end resumes at %d, want %d", d.look, 5005)
	}
	d.Feed([]byte("\r\n$3\r\nab"))
	incomplete()
	if want := 5005 + 2 + 4; d.pos != want || d.body != 3 {
		t.Errorf("at byte %d with %d to come, want %d and 3", d.pos, d.body, want)
	}
}

func TestSmallRepliesAllocateNothing(t *testing.T) {
	flat := []byte("*17\r\n" + strings.Repeat(":1234567\r\n", 17))
	rows := []byte("*3\r\n" + strings.Repeat("*7\r\n"+strings.Repeat(":1234567\r\n", 7), 3))
	nested := []byte("*2\r\n*2\r\n:1\r\n$3\r\nabc\r\n+OK\r\n")
	d := NewDecoder(Limits{})
	take := func(want int) {
		for range want {
			if _, ok, err := d.Next(); !ok || err != nil {
				t.Fatalf("got %v, %v", ok, err)
			}
		}
	}
	run := func() {
		d.Feed(flat)
		take(1)
		d.Feed(nested)
		d.Feed(flat[:50])
		take(1)
		d.Feed(flat[50:])
		take(1)
		d.Feed(rows)
		take(1)
		if _, ok, _ := d.Next(); ok {
			t.Fatal("one reply too many")
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestLargeBuffersAreGivenUp(t *testing.T) {
	d := NewDecoder(Limits{})
	d.Feed([]byte("*20000\r\n" + strings.Repeat("$10\r\n0123456789\r\n", 20000)))
	if vs, err := drain(d, nil); err != nil || len(vs) != 1 || len(vs[0].Elems) != 20000 {
		t.Fatalf("got %d replies, %v", len(vs), err)
	}
	d.Feed([]byte(":1\r\n"))
	if cap(d.buf) > keepBytes || cap(d.nodes) > keepElems || cap(d.vals) > keepElems {
		t.Errorf("kept %d bytes, %d nodes, %d values", cap(d.buf), cap(d.nodes), cap(d.vals))
	}
	if v, ok, err := d.Next(); !ok || err != nil || v.Int != 1 {
		t.Errorf("got %v, %v, %v", v, ok, err)
	}
}

// Elems and Str may be appended to by a careless caller without damage.
func TestValuesDontOverlap(t *testing.T) {
	d := NewDecoder(Limits{})
	d.Feed([]byte("*2\r\n*1\r\n:1\r\n*1\r\n$1\r\na\r\n$2\r\nbc\r\n"))
	v, ok, err := d.Next()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	_ = append(v.Elems[0].Elems, Value{})
	_ = append(v.Elems[1].Elems[0].Str, "XXXXXXXX"...)
	if v.Elems[1].Elems[0].Kind != Bulk {
		t.Error("an append to one array's elements reached the next array")
	}
	if v, ok, err := d.Next(); !ok || err != nil || !bytes.Equal(v.Str, []byte("bc")) {
		t.Errorf("an append to a string reached the next reply: %v, %v, %v", v, ok, err)
	}
}

func BenchmarkDecodeFlat7(b *testing.B)  { benchmarkDecode(b, 7, 0) }
func BenchmarkDecodeFlat17(b *testing.B) { benchmarkDecode(b, 17, 0) }

// A reply cut in the middle.
func BenchmarkDecodeFlat7InTwo(b *testing.B) { benchmarkDecode(b, 7, 20) }

func benchmarkDecode(b *testing.B, n, cut int) {
	p := AppendArray(nil, n)
	for i := range n {
		p = appendValue(p, Value{Kind: Integer, Int: 1 << (3 * i)})
	}
	d := NewDecoder(Limits{})
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if cut > 0 {
			d.Feed(p[:cut])
			if _, ok, _ := d.Next(); ok {
				b.Fatal("early")
			}
		}
		d.Feed(p[cut:])
		if _, ok, err := d.Next(); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

// Time a byte stays the same when a reply 16 times as long arrives byte by byte.
func BenchmarkDecodeByteByByte1k(b *testing.B)  { benchmarkByteByByte(b, 1<<10) }
func BenchmarkDecodeByteByByte16k(b *testing.B) { benchmarkByteByByte(b, 16<<10) }

func benchmarkByteByByte(b *testing.B, n int) {
	p := AppendArray(nil, n)
	for range n {
		p = append(p, ":1\r\n"...)
	}
	d := NewDecoder(Limits{})
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		for i := range p {
			d.Feed(p[i : i+1])
			if _, _, err := d.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
