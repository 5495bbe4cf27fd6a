package edges

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

var (
	// Each request of a key but the first is held for 200 ms more than the one
	// before.
	queueDoor = newDoor("queue", policy(nil, perKey("queue", "1/200ms", m{
		"algorithm": "leaky_bucket", "burst": 10, "max_wait": "10s",
	})), manager("http_protocol_options", m{"enable_trailers": true}))
	uploadLimit = perKey("uploads", "1/hour")
	uploadDoor  = newDoor("upload", policy(nil, uploadLimit), manager("http_protocol_options", m{"enable_trailers": true}))
)

// noise is a body that has no two equal parts.
type noise struct {
	src  *rand.ChaCha8
	left int
}

func newNoise(n int) *noise {
	return &noise{src: rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}), left: n}
}

func (b *noise) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return b.src.Read(p[:n])
}

// mustArrive fails the test unless the upstream read that body whole and in
// order.
func mustArrive(t *testing.T, a answer, body io.Reader) echo {
	t.Helper()
	var got echo
	if err := json.Unmarshal([]byte(a.must(t, 200).body), &got); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Length != n || got.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
		t.Errorf("the upstream read %d bytes, of %d that were sent; their hash is as sent: %v",
			got.Length, n, got.SHA256 == hex.EncodeToString(sum.Sum(nil)))
	}
	return got
}

// A body that comes while its request is held, larger than any buffer on the
// way, arrives whole and in order; so do trailers.
func TestLargeBodyWhileHeld(t *testing.T) {
	const size = 5 << 20
	for _, client := range []*http.Client{h1, h2} {
		for _, chunked := range []bool{false, true} {
			key := uniqueKey(t)
			start := time.Now()
			queueDoor.get(t, "/", key, 200)
			req, err := call{method: http.MethodPut, path: "/file", key: key, client: client, body: newNoise(size)}.request(queueDoor.url(t))
			if err != nil {
				t.Fatal(err)
			}
			if !chunked {
				req.ContentLength = size
			} else {
				req.Trailer = http.Header{"X-Sum": {"the sum"}}
			}
			a := roundTrip(client, req)
			if took := time.Since(start); took < 200*time.Millisecond {
				t.Errorf("the second was answered after %v: it wasn't held", took)
			}
			got := mustArrive(t, a, newNoise(size))
			if chunked && got.Trailer.Get("x-sum") != "the sum" {
				t.Errorf("HTTP/%d: the upstream saw trailers %v", a.proto, got.Trailer)
			}
		}
	}
}

// A request of headers and trailers only, and one whose end comes late, pass
// while held.
func TestLateEndWhileHeld(t *testing.T) {
	key := uniqueKey(t)
	queueDoor.get(t, "/", key, 200)
	body, out := io.Pipe()
	go func() {
		for i := range 8 {
			fmt.Fprintf(out, "part %d\n", i)
			time.Sleep(50 * time.Millisecond)
		}
		out.Close()
	}()
	a := queueDoor.send(t, call{method: http.MethodPost, key: key, body: body, client: h2})
	var want strings.Builder
	for i := range 8 {
		fmt.Fprintf(&want, "part %d\n", i)
	}
	mustArrive(t, a, strings.NewReader(want.String()))

	f := queueDoor.frames(t)
	f.open(t, 1, false, ":method", "POST", ":scheme", "http", ":authority", "x", ":path", "/", "x-key", key)
	f.open(t, 1, true, "x-sum", "alone")
	if got := f.answerTo(t, 1); got != "200" {
		t.Errorf("answered %s", got)
	}
}

// An upload without room is refused while it is still being sent, and the rest
// of it is not read for long.
func TestUploadIsRefusedEarly(t *testing.T) {
	key := uniqueKey(t)
	uploadDoor.send(t, call{method: http.MethodPut, key: key, body: strings.NewReader("small")}).must(t, 200)

	// Over HTTP/1.1 the connection can't be used on, so Envoy closes it.
	c := uploadDoor.dial(t)
	fmt.Fprintf(c, "PUT / HTTP/1.1\r\nhost: x\r\nx-key: %s\r\ncontent-length: 1000000000\r\n\r\nthe first bytes", key)
	r := bufio.NewReader(c)
	a := readAnswer(t, r).must(t, 429).limited(t)
	if !strings.Contains(a.body, "RATE_LIMITED") {
		t.Errorf("body %q", a.body)
	}
	sent := 0
	for ; sent < 1000; sent++ {
		if _, err := c.Write(make([]byte, 1<<20)); err != nil {
			break
		}
	}
	if sent == 1000 {
		t.Error("all of the upload was read")
	}

	// Over HTTP/2 the stream ends and the connection goes on.
	f := uploadDoor.frames(t)
	request := []string{":method", "PUT", ":scheme", "http", ":authority", "x", ":path", "/", "x-key", key}
	for stream := uint32(1); stream < 9; stream += 2 {
		f.open(t, stream, false, request...)
		if err := f.WriteData(stream, false, []byte("the first bytes")); err != nil {
			t.Fatal(err)
		}
		if got := f.answerTo(t, stream); got != "429" {
			t.Fatalf("answered %s", got)
		}
	}
	if got := shared.upstream.count(key); got != 1 {
		t.Errorf("%d uploads reached the upstream", got)
	}
}

// Trailers pass in both directions.
func TestTrailers(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		req, err := call{method: http.MethodPost, key: key, body: io.MultiReader(strings.NewReader("text"))}.request(uploadDoor.url(t))
		if err != nil {
			t.Fatal(err)
		}
		req.Trailer = http.Header{"X-Sum": {"42"}}
		got := mustArrive(t, roundTrip(client, req).limited(t), strings.NewReader("text"))
		if got.Trailer.Get("x-sum") != "42" {
			t.Errorf("the upstream saw trailers %v", got.Trailer)
		}
		a := uploadDoor.send(t, call{key: uniqueKey(t), do: "trailer:x-count=7", client: client}).must(t, 200).limited(t)
		if a.trailer.Get("x-count") != "7" {
			t.Errorf("trailers %v", a.trailer)
		}
	}
}
