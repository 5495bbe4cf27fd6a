package edges

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"

	"sluice/internal/stack/envoyconfig"
)

var (
	upgradeLimit = perKey("sockets", "3/hour", m{"match": m{"path": "/ws"}})
	upgradeDoor  = newDoor("upgrade", policy(nil, upgradeLimit), manager("upgrade_configs", []any{m{"upgrade_type": "websocket"}}))
	upgradeProbe = look("upgrade-probe", upgradeLimit)
	tunnelDoor   = newDoor("tunnel", policy(nil, perKey("tunnels", "2/hour", m{"match": m{"method": "CONNECT"}})),
		manager("upgrade_configs", []any{m{"upgrade_type": "CONNECT"}}),
		routes(m{"match": m{"connect_matcher": m{}}, "route": m{
			"cluster": envoyconfig.Upstream, "upgrade_configs": []any{m{"upgrade_type": "CONNECT", "connect_config": m{}}},
		}}))
	socketLimit = m{"name": "open", "match": m{"path": "/ws"}, "key": "header:x-key", "algorithm": "concurrency", "max": 2}
	openDoor    = newDoor("upgrade-open", policy(nil, socketLimit), manager("upgrade_configs", []any{m{"upgrade_type": "websocket"}}))
)

// socket opens a WebSocket. resp is the handshake's answer.
func (d *door) socket(t *testing.T, key string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	dialer := websocket.Dialer{HandshakeTimeout: hang}
	c, resp, err := dialer.Dial("ws://"+d.address(t)+"/ws", http.Header{"x-key": {key}, "x-do": {"websocket"}})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, resp, err
}

// talk sends texts through a socket and expects each back.
func talk(t *testing.T, c *websocket.Conn, n int) {
	t.Helper()
	for i := range n {
		said := fmt.Sprint("message ", i)
		if err := c.WriteMessage(websocket.TextMessage, []byte(said)); err != nil {
			t.Fatal(err)
		}
		if _, heard, err := c.ReadMessage(); err != nil || string(heard) != said {
			t.Fatalf("said %q, heard %q (%v)", said, heard, err)
		}
	}
}

// A WebSocket counts once, at its handshake, however much it carries; without
// room the handshake is answered 429, and open ones go on.
func TestWebSocketCountsAtTheHandshake(t *testing.T) {
	key := uniqueKey(t)
	var open []*websocket.Conn
	for i := range 3 {
		c, resp, err := upgradeDoor.socket(t, key)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resp.Header.Get("x-ratelimit-remaining"), fmt.Sprint(2-i); got != want {
			t.Errorf("handshake %d: %s remain, expected %s", i, got, want)
		}
		open = append(open, c)
		talk(t, c, 20)
	}
	_, resp, err := upgradeDoor.socket(t, key)
	if err == nil {
		t.Fatal("a fourth handshake succeeded")
	}
	if resp == nil {
		t.Fatal(err)
	}
	answer{status: resp.StatusCode, header: resp.Header}.must(t, 429).limited(t)
	for _, c := range open {
		talk(t, c, 20)
	}
	if got := shared.upstream.count(key); got != 3 {
		t.Errorf("%d handshakes reached the upstream", got)
	}
	upgradeProbe.remains(t, call{path: "/ws", key: key}, 0)
}

// Concurrency counts a WebSocket for as long as it is open.
func TestWebSocketHoldsItsSlot(t *testing.T) {
	key := uniqueKey(t)
	var open []*websocket.Conn
	for range 2 {
		c, _, err := openDoor.socket(t, key)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if _, resp, err := openDoor.socket(t, key); err == nil || resp == nil || resp.StatusCode != 429 {
		t.Fatalf("a third is answered %v (%v)", resp, err)
	}
	talk(t, open[0], 1)
	open[0].Close()
	eventually(t, func() error {
		c, resp, err := openDoor.socket(t, key)
		if err != nil {
			return fmt.Errorf("after one was closed: %w (%v)", err, resp)
		}
		talk(t, c, 1)
		return nil
	})
	talk(t, open[1], 1)
}

// CONNECT has no path. It counts once, however much goes through the tunnel.
func TestConnect(t *testing.T) {
	key := uniqueKey(t)
	for i, status := range []int{200, 200, 429} {
		c := tunnelDoor.dial(t)
		fmt.Fprintf(c, "CONNECT shop.example:443 HTTP/1.1\r\nhost: shop.example:443\r\nx-key: %s\r\n\r\n", key)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		if err != nil {
			t.Fatal(err)
		}
		answer{status: resp.StatusCode, header: resp.Header}.must(t, status).limited(t)
		if status != 200 {
			continue
		}
		for range 3 { // requests of HTTP/1.1, straight to the upstream
			fmt.Fprintf(c, "GET /inside HTTP/1.1\r\nhost: x\r\nx-key: %s\r\n\r\n", key)
			readAnswer(t, r).must(t, 200).unlimited(t)
		}
		if got := shared.upstream.count(key); got != 3*(i+1) {
			t.Errorf("%d requests came through the tunnel", got)
		}
	}
}
