package breaker

import (
	"testing"

	"pgregory.net/rapid"
)

const ms = 1000

func TestOpensAfterFailuresInARow(t *testing.T) {
	b := New(Options{})
	for i := range 20 {
		if !b.Allow() {
			t.Fatalf("refused after %d mixed results", i)
		}
		if i%5 == 4 {
			b.Success()
		} else {
			b.Failure(0)
		}
	}
	for range 5 {
		if !b.Allow() {
			t.Fatal("open too early")
		}
		b.Failure(0)
	}
	if b.Allow() || !b.IsOpen() {
		t.Error("closed after five failures in a row")
	}
}

func opened(o Options, now int64) *Breaker {
	b := New(o)
	for range 5 {
		b.Allow()
		b.Failure(now)
	}
	return &b
}

func TestProbesAndCloses(t *testing.T) {
	b := opened(Options{}, 0)
	if b.ProbeDue(99 * ms) {
		t.Error("a probe before its time")
	}
	if !b.ProbeDue(100*ms) || b.ProbeDue(100*ms) {
		t.Fatal("not one probe at its time")
	}
	if b.Allow() {
		t.Error("a call while only a probe is out")
	}
	b.Probed(101 * ms)
	if !b.Allow() || b.Allow() {
		t.Fatal("not one call on trial")
	}
	b.Success()
	if b.IsOpen() || !b.Allow() {
		t.Error("still open after a trial that succeeded")
	}
}

func TestWaitsLongerEachTime(t *testing.T) {
	b := opened(Options{MaxWait: 500 * ms}, 0)
	now := int64(0)
	for _, want := range []int64{100, 200, 400, 500, 500} {
		for !b.ProbeDue(now) {
			now += ms
		}
		if b.wait != want*ms {
			t.Errorf("waited %d ms, want %d", b.wait/ms, want)
		}
		b.ProbeFailed(now)
	}
	// A trial that fails counts as well, and success forgets it all.
	for !b.ProbeDue(now) {
		now += ms
	}
	b.Probed(now)
	b.Allow()
	b.Failure(now)
	if !b.IsOpen() || b.Allow() {
		t.Error("closed by a trial that failed")
	}
	for !b.ProbeDue(now) {
		now += ms
	}
	b.Probed(now)
	b.Allow()
	b.Success()
	b = opened(b.o, now)
	if b.probeAt != now+100*ms {
		t.Errorf("the next wait is %d ms", (b.probeAt-now)/ms)
	}
}

func TestClosesWhenNobodyCalls(t *testing.T) {
	b := opened(Options{}, 0)
	b.ProbeDue(100 * ms)
	b.Probed(100 * ms)
	b.ProbeDue(599 * ms)
	if !b.IsOpen() {
		t.Error("closed while it waits for a trial")
	}
	b.ProbeDue(600 * ms)
	if b.IsOpen() || !b.Allow() {
		t.Fatal("still open though Redis answered and nobody calls")
	}
	b.Failure(700 * ms)
	if !b.IsOpen() {
		t.Error("it takes more than one failure to open it again")
	}
}

func TestTrialNobodyReportsOn(t *testing.T) {
	b := opened(Options{}, 0)
	b.ProbeDue(100 * ms)
	b.Probed(100 * ms)
	b.Allow()
	b.Abandon()
	if !b.Allow() {
		t.Error("an abandoned trial isn't given to another call")
	}
	b.ProbeDue(5000 * ms)
	if !b.ProbeDue(10_000 * ms) {
		t.Error("a lost trial keeps the breaker from probing for good")
	}
}

// Whatever happens: while it is open no more than one call is allowed for each
// probe answered, and once Redis answers all the time it closes.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(Options{Failures: rapid.IntRange(1, 6).Draw(t, "failures"), Rand: func() uint32 { return rapid.Uint32().Draw(t, "rand") }})
		now, answered, out := int64(0), 0, false
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += rapid.Int64Range(0, 300*ms).Draw(t, "passes")
			wasOpen := b.IsOpen()
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				if b.ProbeDue(now) {
					out = true
				}
			case 1:
				if out {
					out = false
					if rapid.Bool().Draw(t, "answered") {
						b.Probed(now)
						answered++
					} else {
						b.ProbeFailed(now)
					}
				}
			default:
				if !b.Allow() {
					break
				}
				if wasOpen {
					if answered == 0 {
						t.Fatal("a call got through without a probe's answer")
					}
					answered--
				}
				if rapid.Bool().Draw(t, "succeeds") {
					b.Success()
				} else {
					b.Failure(now)
				}
			}
			if !b.IsOpen() {
				answered, out = 0, false
			}
		}
		if out {
			b.Probed(now)
		}
		for range 10 {
			now += 3000 * ms
			if b.ProbeDue(now) {
				b.Probed(now)
			}
			if b.Allow() {
				b.Success()
			}
		}
		if b.IsOpen() {
			t.Fatal("still open though everything is answered")
		}
	})
}
