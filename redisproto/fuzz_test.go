package redisproto

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Run one with `go test ./redisproto -fuzz FuzzDecoder -fuzztime 30s`. Plain
// `go test` runs the seeds in testdata/fuzz.

// FuzzDecoder checks the decoder against a plain recursive one, and that what
// it returns encodes to the same replies.
func FuzzDecoder(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeAll(Limits{}, data, whole)
		var de DecodeError
		if err != nil && !errors.As(err, &de) {
			t.Fatalf("error of type %T", err)
		}
		p := plain{left: data}
		for i := 0; ; i++ {
			want, res := p.value(0)
			switch {
			case res == bad && (err == nil || i != len(got)):
				t.Fatalf("reply %d is malformed, but came %d replies and %v", i, len(got), err)
			case res == short && i != len(got):
				t.Fatalf("reply %d is incomplete, but came %d", i, len(got))
			case res != fine:
				// A line without an end may or may not be known to be bad yet.
				goto encode
			case i >= len(got):
				t.Fatalf("reply %d, %v, is missing: %v", i, want, err)
			case !equal(got[i], want):
				t.Fatalf("reply %d: got %v, want %v", i, got[i], want)
			}
		}
	encode:
		var again []byte
		for _, v := range got {
			again = appendValue(again, v)
		}
		vs, err := decodeAll(Limits{}, again, whole)
		if err != nil || !equalAll(vs, got) {
			t.Fatalf("encoded again: got %v, %v, want %v", vs, err, got)
		}
	})
}

// FuzzSplit checks that cutting the bytes anywhere changes neither the replies
// nor the error, under any limits.
func FuzzSplit(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, depth, elems, bulk, buffered uint16) {
		l := Limits{int(depth), int(elems), int(bulk), int(buffered)}
		want, wantErr := decodeAll(l, data, whole)
		for i, cut := range []func(int) int{single, random(rand.New(rand.NewPCG(seed, 0)))} {
			got, err := decodeAll(l, data, cut)
			if err != wantErr || !equalAll(got, want) {
				t.Fatalf("cut %d: got %v, %v, at once %v, %v", i, got, err, want, wantErr)
			}
		}
	})
}

// FuzzCommand checks that the encoder's commands decode to their arguments, and
// that no argument can reach beyond its own place.
func FuzzCommand(f *testing.F) {
	f.Fuzz(func(t *testing.T, a, b []byte, n int64) {
		cmd := AppendArray(nil, 4)
		cmd = AppendBulk(cmd, a)
		cmd = AppendBulkString(cmd, string(b))
		cmd = AppendBulkInt(cmd, n)
		cmd = AppendBulk(cmd, nil)
		if same := AppendCommand(nil, string(a), string(b), strconv.FormatInt(n, 10), ""); !bytes.Equal(cmd, same) {
			t.Fatalf("%q and %q differ", cmd, same)
		}
		vs, err := decodeAll(Limits{}, append(cmd, "+end\r\n"...), whole)
		if err != nil || len(vs) != 2 || len(vs[0].Elems) != 4 {
			t.Fatalf("got %v, %v", vs, err)
		}
		for i, want := range [][]byte{a, b, strconv.AppendInt(nil, n, 10), nil} {
			if e := vs[0].Elems[i]; e.Kind != Bulk || !bytes.Equal(e.Str, want) {
				t.Errorf("argument %d: got %v, want %q", i, e, want)
			}
		}
	})
}

type result int

const (
	fine  result = iota
	short        // no whole reply
	bad
)

// plain decodes with default limits, the obvious way.
type plain struct {
	left  []byte
	elems int
}

func (p *plain) value(depth int) (Value, result) {
	if depth == 0 {
		p.elems = 0
	}
	if len(p.left) == 0 {
		return Value{}, short
	}
	kind := Kind(p.left[0])
	if bytes.IndexByte([]byte("+-:$*"), byte(kind)) < 0 {
		return Value{}, bad
	}
	end := bytes.Index(p.left, []byte("\r\n"))
	if end < 0 {
		return Value{}, short
	}
	text := p.left[1:end]
	p.left = p.left[end+2:]
	if kind == SimpleString || kind == Error {
		if bytes.ContainsAny(text, "\r\n") || len(text) > 1<<20 {
			return Value{}, bad
		}
		return Value{Kind: kind, Str: text}, fine
	}
	if kind != Integer && (len(text) == 0 || text[0] == '+') {
		return Value{}, bad
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || len(bytes.TrimLeft(text, "+-")) > maxDigits {
		return Value{}, bad
	}
	switch {
	case kind == Integer:
		return Value{Kind: Integer, Int: n}, fine
	case string(text) == "-1":
		return Value{Kind: Null}, fine
	case text[0] == '-':
		return Value{}, bad
	case kind == Bulk:
		switch {
		case n > 1<<20:
			return Value{}, bad
		case int64(len(p.left)) < n+2:
			return Value{}, short
		case string(p.left[n:n+2]) != "\r\n":
			return Value{}, bad
		}
		v := Value{Kind: Bulk, Str: p.left[:n]}
		p.left = p.left[n+2:]
		return v, fine
	}
	if p.elems += int(min(n, 1<<20)); depth == 8 || p.elems > 64<<10 {
		return Value{}, bad
	}
	v := Value{Kind: Array}
	for range n {
		e, res := p.value(depth + 1)
		if res != fine {
			return Value{}, res
		}
		v.Elems = append(v.Elems, e)
	}
	return v, fine
}
