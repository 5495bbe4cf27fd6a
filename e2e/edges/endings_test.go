package edges

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// leave makes a call and gives up: before the answer, or within it once some of
// it has come.
func leave(t *testing.T, d *door, c call, within bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := c.request(d.url(t))
	if err != nil {
		t.Fatal(err)
	}
	before := shared.upstream.count(c.key)
	if !within {
		go func() {
			for shared.upstream.count(c.key) == before && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
	}
	client := c.client
	if client == nil {
		client = h1
	}
	resp, err := client.Do(req.WithContext(ctx))
	if !within {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the call ended with %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
}

// Each way in which a request can end, and what it comes to: 1 is charged, 0
// refunded.
func TestEndings(t *testing.T) {
	endings := []struct {
		name   string
		c      call
		leaves string // "before" the answer or "within"
		status int
		broken bool // the answer ends too early
		// By path.
		refund, refundStatus, chargeNoAnswer int
	}{
		{name: "ok", c: call{do: "status:200"}, status: 200, refund: 1, refundStatus: 1},
		{name: "client error", c: call{do: "status:404"}, status: 404, refund: 1, refundStatus: 1},
		{name: "server error", c: call{do: "status:500"}, status: 500},
		{name: "retried", c: call{do: "fail:1", header: map[string]string{"x-retry": "1"}}, status: 200, refund: 1, refundStatus: 1},
		{name: "reset", c: call{do: "reset"}, status: 503, refundStatus: 1, chargeNoAnswer: 1},
		{name: "timeout of Envoy", c: call{do: "hang", header: map[string]string{"x-route": "short"}}, status: 504, refundStatus: 1, chargeNoAnswer: 1},
		{name: "answer of Envoy", c: call{header: map[string]string{"x-route": "none"}}, status: 404, refundStatus: 1, chargeNoAnswer: 1},
		{name: "client leaves before", c: call{do: "hang"}, leaves: "before", refundStatus: 1, chargeNoAnswer: 1},
		{name: "client leaves within", c: call{do: "drip"}, leaves: "within", refund: 1, refundStatus: 1},
		{name: "broken answer", c: call{do: "break"}, status: 200, broken: true, refund: 1, refundStatus: 1},
	}
	for _, e := range endings {
		for proto, client := range map[string]*http.Client{"HTTP/1.1": h1, "HTTP/2": h2} {
			t.Run(e.name+" "+proto, func(t *testing.T) {
				for path, charged := range map[string]int{"/refund": e.refund, "/refund-status": e.refundStatus, "/charge-no-answer": e.chargeNoAnswer} {
					c := e.c
					c.path, c.key, c.client = path, uniqueKey(t), client
					if e.leaves != "" {
						leave(t, settleDoor, c, e.leaves == "within")
					} else if a := settleDoor.send(t, c); a.status != e.status || (a.err != nil) != e.broken {
						t.Fatalf("%s: answered %d (%v)", path, a.status, a.err)
					}
					left(t, path, c.key, 10-charged)
				}
			})
		}
	}
}

// Whoever leaves while Redis is asked is settled when it answers; a charge that
// nothing refunds stays.
func TestClientLeavesWhileRedisIsAsked(t *testing.T) {
	waitFor := func(active string) {
		t.Helper()
		eventually(t, func() error {
			if got := settleDoor.active(t); got != active {
				return fmt.Errorf("%q requests are active, expected %s", got, active)
			}
			return nil
		})
	}
	full := map[string]int{"/login": 5, "/refund": 10, "/refund-status": 10, "/charge-no-answer": 10, "/header": 100, "/both": 100}
	for _, client := range []*http.Client{h1, h2} {
		for path, charged := range map[string]int{"/refund": 0, "/refund-status": 1, "/charge-no-answer": 1, "/login": 0, "/header": 10, "/both": 10} {
			key := uniqueKey(t)
			waitFor("0")
			// Scripts count as writing; CLIENT UNPAUSE would be paused with the rest.
			if err := shared.client.Do(t.Context(), "client", "pause", hang.Milliseconds(), "write").Err(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			req, err := call{path: path, key: key}.request(settleDoor.url(t))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() {
				resp, err := client.Do(req.WithContext(ctx))
				if err == nil {
					resp.Body.Close()
				}
				ended <- err
			}()
			waitFor("1")
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the call ended with %v though Redis is paused", path, err)
			}
			waitFor("0")
			if err := shared.client.Do(t.Context(), "client", "unpause").Err(); err != nil {
				t.Fatal(err)
			}
			left(t, path, key, full[path]-charged)
			if got := shared.upstream.count(key); got != 0 {
				t.Errorf("%s: %d requests reached the upstream", path, got)
			}
		}
	}
}

var (
	// A slot is held while a request waits in the queue.
	slotDoor = newDoor("slots", policy(nil,
		m{"name": "open", "key": "header:x-key", "algorithm": "concurrency", "max": 2},
		perKey("queue", "1/150ms", m{"match": m{"path": "/queue"}, "algorithm": "leaky_bucket", "burst": 10, "max_wait": "10s"}),
	))
)

// A slot is free again however its request ended.
func TestSlotsAreFreed(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		for range 3 { // more often than there are slots
			leave(t, slotDoor, call{key: key, do: "hang", client: client}, false)
			leave(t, slotDoor, call{key: key, do: "drip", client: client}, true)
			eventually(t, func() error {
				a := slotDoor.send(t, call{key: key, do: "reset", client: client})
				if a.status != 503 {
					return a.not("503")
				}
				return nil
			})
			eventually(t, func() error {
				if a := slotDoor.send(t, call{key: key, do: "status:500", client: client}); a.status != 500 {
					return a.not("500")
				}
				return nil
			})
		}
	}
}

// Whoever leaves while a queue delays him frees his slot, too.
func TestSlotOfADelayedRequest(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		slotDoor.send(t, call{path: "/queue", key: key, client: client}).must(t, 200)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			req, err := call{path: "/queue", key: key}.request(slotDoor.url(t))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := client.Do(req.WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
			cancel()
		}
		eventually(t, func() error {
			if a := slotDoor.send(t, call{key: key, client: client}); a.status != 200 {
				return fmt.Errorf("after three left: answered %d", a.status)
			}
			return nil
		})
	}
}
