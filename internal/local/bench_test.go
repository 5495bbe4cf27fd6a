package local

import (
	"strconv"
	"testing"

	"sluice/internal/limit"
)

// What a decision costs besides the proxy's own work: the shared data here is a
// map.
func BenchmarkDecide(b *testing.B) {
	p := &limit.Params{Limit: 1 << 40, WindowMS: 60_000, HoldMS: 60_000, Calendar: &limit.Calendar{Unit: limit.Day}}
	for _, a := range limit.Algorithms() {
		b.Run(a.Name+a.Storage, func(b *testing.B) { benchmarkDecide(b, a, p, 1) })
	}
	b.Run("seats taken", func(b *testing.B) { benchmarkDecide(b, limit.SlidingLog, p, 100_000) })
}

func benchmarkDecide(b *testing.B, a *limit.Algorithm, p *limit.Params, keys int) {
	s := New(newStill(), Options{})
	text := make([][]byte, keys)
	for i := range text {
		text[i] = []byte("rl:{per-user|user-" + strconv.Itoa(i) + "}:log1")
	}
	cs := []Counter{counter("", a, p, 3, 1)}
	now := epoch
	for i := range text {
		cs[0].Key = text[i]
		s.Decide(now, cs)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		i = (i + 7919) % keys
		cs[0].Key = text[i]
		s.Decide(now, cs)
	}
}

func BenchmarkHash(b *testing.B) {
	key := []byte("rl:{per-user|0123456789abcdef}:log1")
	for b.Loop() {
		hash(&[2]uint64{1, 2}, key)
	}
}

// 4096 decisions, each on a new counter, and the taking of their accounts.
func BenchmarkTakePending(b *testing.B) {
	p := &limit.Params{Limit: 1 << 40, WindowMS: 60_000}
	h := newStill()
	h.copies = true
	s := New(h, Options{})
	for b.Loop() {
		for i := range 4096 {
			s.Decide(epoch, []Counter{counter(strconv.Itoa(i), limit.SlidingLog, p, 3, 1)})
		}
		n := 0
		for s.TakePending(epoch, 256, func(*Pending) bool { n++; return true }) {
		}
		if n != 4096 {
			b.Fatalf("%d accounts", n)
		}
	}
}
