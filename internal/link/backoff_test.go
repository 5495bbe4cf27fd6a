package link

import (
	"math/rand/v2"
	"testing"
)

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	b := backoff{min: 10 * ms, max: 1000 * ms, rand: func() uint32 { return 1<<32 - 1 }}
	if !b.ready(0) {
		t.Error("the first attempt has to wait")
	}
	now := int64(5_000_000)
	for _, want := range []int64{10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000} {
		b.failed(now)
		if b.ready(now+want*ms-1) || !b.ready(now+want*ms) {
			t.Errorf("waits %d µs, want %d ms", b.notYet-now, want)
		}
		now = b.notYet
	}
	b.succeeded()
	if !b.ready(now) {
		t.Error("has to wait after a success")
	}
	b.failed(now)
	if got := b.notYet - now; got != 10*ms {
		t.Errorf("waits %d µs after a success and a failure, want 10 ms", got)
	}
	for range 1000 {
		b.failed(now)
	}
	if got := b.notYet - now; got != 1000*ms {
		t.Errorf("waits %d µs after a thousand failures, want 1 s", got)
	}
}

func TestBackoffIsNeverZeroAndFullyJittered(t *testing.T) {
	for _, rnd := range []uint32{0, 1, 1 << 31, 1<<32 - 1} {
		b := backoff{min: 1, max: longestBackoff, rand: func() uint32 { return rnd }}
		for range 60 {
			if b.failed(7); b.ready(7) || b.notYet > 7+longestBackoff {
				t.Fatalf("random %d: waits %d µs", rnd, b.notYet-7)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	low, high := 0, 0
	for range 1000 {
		b := backoff{min: 1000, max: 1000, rand: r.Uint32}
		switch b.failed(0); {
		case b.notYet <= 250:
			low++
		case b.notYet > 750:
			high++
		}
	}
	if low < 200 || low > 300 || high < 200 || high > 300 {
		t.Errorf("of 1000 waits %d are in the first quarter and %d in the last, want about 250", low, high)
	}
}

// With Redis gone, attempts thin out, and each request in between fails at once.
func TestAttemptsWhileRedisIsAway(t *testing.T) {
	r := newRig(t, Options{Rand: rand.New(rand.NewPCG(1, 2)).Uint32})
	end := r.now + 10_000*ms
	refused := 0
	for ; r.now < end; r.now += ms {
		if err := r.try("a"); err != nil {
			if err != ErrUnavailable {
				t.Fatal(err)
			}
			refused++
			continue
		}
		r.now += ms
		r.Closed(r.now, r.wire.last, "14")
		r.calls.is("a!lost")
	}
	// 10 s / 0.5 s on average, and the first few.
	if n := r.wire.last; n < 15 || n > 60 {
		t.Errorf("%d attempts in 10 s", n)
	}
	if refused < 9000 {
		t.Errorf("%d requests were refused", refused)
	}
}

func TestFirstAttemptAfterAGoodConnectionIsImmediate(t *testing.T) {
	r := newRig(t, Options{})
	r.send("a")
	r.recv(":1\r\n")
	r.now += 1000 * ms
	r.Closed(r.now, 1, "")
	r.send("b")
	// This one was closed before it answered: back off.
	r.Closed(r.now, 2, "")
	if err := r.try("c"); err != ErrUnavailable {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
	// Neither does a long life without an answer count.
	r.now += 50 * ms
	r.send("d")
	r.now += 5000 * ms
	r.Closed(r.now, 3, "")
	if err := r.try("e"); err != ErrUnavailable {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
}

// A peer that answers and hangs up must not be called again at the rate of the
// requests.
func TestPeerThatAnswersAndHangsUp(t *testing.T) {
	r := newRig(t, Options{Rand: rand.New(rand.NewPCG(1, 2)).Uint32})
	for range 10_000 {
		if r.try("a") == nil {
			r.recv("-ERR max number of clients reached\r\n")
			r.Closed(r.now, r.wire.last, "")
		}
		r.now += ms
	}
	if n := r.wire.last; n > 60 {
		t.Errorf("%d attempts in 10 s", n)
	}
}
