package redisproto

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"array", AppendArray(nil, 0), "*0\r\n"},
		{"array of many", AppendArray(nil, 12345), "*12345\r\n"},
		{"bulk", AppendBulk(nil, []byte("a\r\nb\x00")), "$5\r\na\r\nb\x00\r\n"},
		{"empty bulk", AppendBulk(nil, nil), "$0\r\n\r\n"},
		{"bulk string", AppendBulkString(nil, "größe"), "$7\r\ngröße\r\n"},
		{"command", AppendCommand(nil, "SET", "k", ""), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"},
		{"no arguments", AppendCommand(nil), "*0\r\n"},
		{"after other bytes", AppendBulkInt([]byte("x"), -1), "x$2\r\n-1\r\n"},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestAppendBulkIntCountsItsDigits(t *testing.T) {
	ns := []int64{0, math.MinInt64, math.MaxInt64}
	for p := int64(1); p < math.MaxInt64/10; p *= 10 {
		ns = append(ns, p, p-1, p+1, -p, -p-1, 1-p)
	}
	for _, n := range ns {
		s := strconv.FormatInt(n, 10)
		want := "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n"
		if got := string(AppendBulkInt(nil, n)); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestEncodeAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 1024)
	key := []byte("rl:{per-ip|10.0.0.1}:sl1")
	sha := strings.Repeat("a", 40)
	if n := testing.AllocsPerRun(100, func() { dst = appendDecision(dst[:0], sha, key) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { dst = AppendCommand(dst[:0], "AUTH", sha, sha) }); n != 0 {
		t.Errorf("AppendCommand: %v allocations, want 0", n)
	}
}

// appendDecision encodes a call like the ones that the limiter makes.
func appendDecision(dst []byte, sha string, key []byte) []byte {
	dst = AppendArray(dst, 7)
	dst = AppendBulkString(dst, "EVALSHA")
	dst = AppendBulkString(dst, sha)
	dst = AppendBulkInt(dst, 1)
	dst = AppendBulk(dst, key)
	dst = AppendBulkInt(dst, 1)
	dst = AppendBulkInt(dst, 1000)
	return AppendBulkInt(dst, 100)
}

func BenchmarkEncode(b *testing.B) {
	dst := make([]byte, 0, 1024)
	key := []byte("rl:{per-ip|10.0.0.1}:sl1")
	sha := strings.Repeat("a", 40)
	b.ReportAllocs()
	for b.Loop() {
		dst = appendDecision(dst[:0], sha, key)
	}
}

func TestAppendDecimal(t *testing.T) {
	for _, n := range []int64{0, 9, 10, 99, 100, -1, -9, -10, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		for range 64 {
			if got, want := string(AppendDecimal([]byte("x"), n)), "x"+strconv.FormatInt(n, 10); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			n = n/7 - 3
		}
	}
}
