package link

import (
	"strings"
	"testing"

	"sluice/redisproto"
)

func TestSteadyStateAllocatesNothing(t *testing.T) {
	p := NewPipe(quietWire{}, Options{Observer: quiet{}})
	var c counter
	cmd := make([]byte, 100)
	reply := []byte("*7\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n")
	now := int64(1)
	run := func() {
		for range 20 {
			if err := p.Send(now, cmd, now+20*ms, &c); err != nil {
				t.Fatal(err)
			}
		}
		p.Received(now, 1, reply)
		now += 30 * ms
		p.Tick(now) // the rest is late
		for range 19 {
			p.Received(now, 1, reply)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for 20 calls, want 0", n)
	}
	if c.replies == 0 || c.replies*19 != c.errors {
		t.Errorf("%d replies, %d errors", c.replies, c.errors)
	}
}

type quietWire struct{}

func (quietWire) Open() (uint32, error)     { return 1, nil }
func (quietWire) Send(uint32, []byte) error { return nil }
func (quietWire) Close(uint32)              {}

type quiet struct{ noObserver }

type counter struct{ replies, errors int }

func (c *counter) Done(_ redisproto.Value, err error) {
	if err != nil {
		c.errors++
	} else {
		c.replies++
	}
}

func BenchmarkCall(b *testing.B)          { benchmarkCalls(b, 1) }
func BenchmarkCall64AtOnce(b *testing.B)  { benchmarkCalls(b, 64) }
func BenchmarkCall512AtOnce(b *testing.B) { benchmarkCalls(b, 512) }

// benchmarkCalls sends n commands, then takes their replies in one piece. The
// time is that of one call.
func benchmarkCalls(b *testing.B, n int) {
	p := NewPipe(quietWire{}, Options{})
	var c counter
	cmd := make([]byte, 200)
	reply := []byte("*7\r\n:1\r\n:25\r\n:75\r\n:1000\r\n:0\r\n:1732900000123456\r\n:0\r\n")
	replies := []byte(strings.Repeat(string(reply), n))
	now := int64(1)
	b.ReportAllocs()
	for i := 0; i < b.N; i += n {
		now++
		for range n {
			if err := p.Send(now, cmd, now+20*ms, &c); err != nil {
				b.Fatal(err)
			}
		}
		p.Received(now, 1, replies)
	}
	if c.errors != 0 {
		b.Fatalf("%d errors", c.errors)
	}
}

// BenchmarkTick is a tick with calls waiting, none of them late.
func BenchmarkTick(b *testing.B) {
	p := NewPipe(quietWire{}, Options{})
	var c counter
	for range 1000 {
		if err := p.Send(1, nil, forever-1, &c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Tick(2)
	}
}
