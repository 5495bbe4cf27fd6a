package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that sends back what it gets, after its name.
func echo(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					if _, err := io.WriteString(c, name+lines.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func start(t *testing.T) *Proxy {
	t.Helper()
	p, err := Start(echo(t, "a:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

type caller struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *Proxy) *caller {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c, bufio.NewReader(c)}
}

// say sends a line and returns the next line that comes within a time.
func (c *caller) say(text string, within time.Duration) (string, error) {
	if _, err := io.WriteString(c, text+"\n"); err != nil {
		return "", err
	}
	return c.hear(within)
}

func (c *caller) hear(within time.Duration) (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	return c.r.ReadString('\n')
}

// must says text and expects it back from a server.
func (c *caller) must(t *testing.T, text, want string) time.Duration {
	t.Helper()
	begin := time.Now()
	if got, err := c.say(text, 10*time.Second); err != nil || got != want+"\n" {
		t.Fatalf("said %s, heard %q (%v), expected %s", text, got, err, want)
	}
	return time.Since(begin)
}

func silent(t *testing.T, got string, err error) {
	t.Helper()
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("heard %q (%v), expected silence", got, err)
	}
}

func TestPassesOnAndSwitches(t *testing.T) {
	p := start(t)
	old := dial(t, p)
	old.must(t, "1", "a:1")
	p.Target(echo(t, "b:"))
	old.must(t, "2", "a:2")
	dial(t, p).must(t, "3", "b:3")
	if got := p.Accepted(); got != 2 {
		t.Errorf("%d connections", got)
	}
}

func TestLatencyIsAddedEachWayAndKeepsOrder(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Set(Faults{Latency: 30 * time.Millisecond, Jitter: 20 * time.Millisecond})
	if took := c.must(t, "1", "a:1"); took < 60*time.Millisecond {
		t.Errorf("took %v", took)
	}
	for i := range 20 {
		if _, err := io.WriteString(c, string(rune('a'+i))+"\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	for i := range 20 {
		if got, err := c.hear(10 * time.Second); err != nil || got != "a:"+string(rune('a'+i))+"\n" {
			t.Fatalf("line %d is %q (%v)", i, got, err)
		}
	}
}

func TestRateDrips(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Set(Faults{Rate: 200}) // a byte each 5 ms
	if took := c.must(t, "12345678", "a:12345678"); took < 45*time.Millisecond {
		t.Errorf("20 bytes at 200 a second took %v", took)
	}
}

func TestHeldBytesArriveWhenTheFaultEnds(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	p.Set(Faults{Hold: true})
	got, err := c.say("1", 100*time.Millisecond)
	silent(t, got, err)
	p.Set(Faults{})
	if got, err := c.hear(10 * time.Second); err != nil || got != "a:1\n" {
		t.Fatalf("heard %q (%v)", got, err)
	}
	c.must(t, "2", "a:2")
}

func TestLostConnectionsStayLost(t *testing.T) {
	p := start(t)
	before := dial(t, p)
	before.must(t, "1", "a:1")
	p.Set(Faults{Lose: true})
	during := dial(t, p)
	for _, c := range []*caller{before, during} {
		got, err := c.say("2", 100*time.Millisecond)
		silent(t, got, err)
	}
	p.Set(Faults{})
	for _, c := range []*caller{before, during} {
		got, err := c.say("3", 100*time.Millisecond)
		silent(t, got, err)
	}
	dial(t, p).must(t, "4", "a:4")
	if n := p.Cut(); n != 3 {
		t.Errorf("%d connections were cut", n)
	}
	if _, err := before.hear(10 * time.Second); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a cut connection ended with %v, expected a reset", err)
	}
}

func TestRefuses(t *testing.T) {
	p := start(t)
	old := dial(t, p)
	old.must(t, "1", "a:1")
	p.Set(Faults{Refuse: true})
	// The reset may come before the connection is known to be there.
	if c, err := net.Dial("tcp", p.Addr); err == nil {
		t.Cleanup(func() { _ = c.Close() })
		if got, err := (&caller{c, bufio.NewReader(c)}).say("2", 10*time.Second); err == nil {
			t.Errorf("heard %q", got)
		}
	}
	old.must(t, "3", "a:3")
	p.Set(Faults{})
	dial(t, p).must(t, "4", "a:4")
}

func TestEndOfOneSideEndsTheOther(t *testing.T) {
	p := start(t)
	c := dial(t, p)
	c.must(t, "1", "a:1")
	c.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		p.mu.Lock()
		left := len(p.conns)
		p.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", left)
		}
		time.Sleep(time.Millisecond)
	}
}
