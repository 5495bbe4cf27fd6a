package edges

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// By LDS a connection keeps the configuration that it was opened under, until
// Envoy has drained it.
func TestListenerUpdate(t *testing.T) {
	d := lateDoor(t, policy(nil, perKey("l", "100/hour")))
	d.open(t)
	applied(t, d, `"l";q=100;w=3600`)
	key := uniqueKey(t)
	old := newClient(false)
	defer old.CloseIdleConnections()
	for range 5 {
		d.send(t, call{key: key, client: old}).must(t, 200)
	}
	d.config = policy(nil, perKey("l", "7/hour"))
	changed := time.Now()
	d.open(t)
	applied(t, d, `"l";q=7;w=3600`)

	// Both count in one place.
	fresh := newClient(false)
	defer fresh.CloseIdleConnections()
	a := d.send(t, call{key: key, client: fresh}).must(t, 200)
	if got := a.remaining(t); got != 1 {
		t.Errorf("a new connection: %d remain", got)
	}
	a = d.send(t, call{key: key, client: old}).must(t, 200)
	if got := a.remaining(t); got != 93 && time.Since(changed) < drainSeconds*time.Second {
		t.Errorf("the old connection: %d remain", got)
	}
	d.send(t, call{key: key, client: fresh}).must(t, 429)

	// The old one ends by draining, and with it the old configuration.
	eventually(t, func() error {
		if a := d.send(t, call{key: key, client: old}); a.err == nil && a.status != 429 {
			return fmt.Errorf("the old connection still has the old configuration")
		}
		return nil
	})
	if took := time.Since(changed); took > (drainSeconds+3)*time.Second {
		t.Errorf("the old configuration served for %v", took)
	}
}

// By LDS a wrong configuration makes no listener, and a wrong update leaves the
// one that is there.
func TestWrongListener(t *testing.T) {
	from := len(envoyLog(t))
	d := lateDoor(t, wrong(uniqueKey(t)))
	d.open(t)
	mustReport(t, from)
	if c, err := net.Dial("tcp", d.addr); err == nil {
		c.Close()
		t.Error("there is a listener")
	}
	d.config = policy(nil, perKey("good", "2/hour"))
	d.open(t)
	applied(t, d, `"good";q=2;w=3600`)
	key := uniqueKey(t)
	d.get(t, "/", key, 200)

	from = len(envoyLog(t))
	d.config = wrong(uniqueKey(t))
	d.open(t)
	mustReport(t, from)
	h1.CloseIdleConnections()
	d.get(t, "/", key, 200)
	d.get(t, "/", key, 429)
}
