package edges

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

var (
	grpcLimit = perKey("calls", "3/hour", m{"match": m{"path": "/shop.Orders/*"}})
	grpcDoor  = newDoor("grpc", policy(nil, grpcLimit))
	grpcProbe = look("grpc-probe", grpcLimit)
	// Its Redis is a place where nobody listens.
	lostDoor = newDoor("lost", policy(m{"redis": m{"cluster": "nowhere", "timeout": "1s", "retry": m{"times": 0}}}, perKey("calls", "3/hour")))
	bigCall  = newDoor("grpc-cost", policy(nil, perKey("calls", "3/hour", m{"cost": 5})))
)

// message is text as one gRPC message: 5 bytes in front say its length.
func message(text []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}

// readMessage reads one gRPC message.
func readMessage(r io.Reader) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || n > 1<<20 {
		return nil, errors.New("not a gRPC message")
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

// invoke starts a gRPC call whose messages come from body. The caller closes
// the answer's body.
func (d *door) invoke(t *testing.T, key string, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url(t)+"/shop.Orders/Create", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("content-type", "application/grpc")
	req.Header.Set("te", "trailers")
	req.Header.Set("x-key", key)
	resp, err := h2.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// refused fails the test unless a call was answered by headers alone (gRPC's
// Trailers-Only) with that status, and returns them.
func refused(t *testing.T, resp *http.Response, status int) http.Header {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) > 0 || len(resp.Trailer) > 0 {
		t.Errorf("body %q (%v), trailers %v", body, err, resp.Trailer)
	}
	// net/http knows the length of an answer without a Content-Length only when
	// the headers ended the stream.
	if resp.ContentLength != 0 || resp.Header.Get("content-length") != "" {
		t.Errorf("the headers don't end the stream: %v", resp.Header)
	}
	if resp.StatusCode != 200 || resp.Header.Get("content-type") != "application/grpc" || resp.Header.Get("grpc-status") != strconv.Itoa(status) {
		t.Fatalf("answered %d %v", resp.StatusCode, resp.Header)
	}
	return resp.Header
}

// completed fails the test unless a call was answered with these messages and
// status 0.
func completed(t *testing.T, resp *http.Response, messages ...string) {
	t.Helper()
	defer resp.Body.Close()
	for _, want := range messages {
		if got, err := readMessage(resp.Body); err != nil || string(got) != want {
			t.Fatalf("message %q (%v), expected %q\n%v", got, err, want, resp.Header)
		}
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Fatalf("%q follows (%v)", rest, err)
	}
	if got := resp.Trailer.Get("grpc-status"); got != "0" {
		t.Errorf("trailers %v", resp.Trailer)
	}
}

func TestUnaryGRPC(t *testing.T) {
	key := uniqueKey(t)
	for i := range 3 {
		resp := grpcDoor.invoke(t, key, bytes.NewReader(message([]byte("order"))))
		if got, want := resp.Header.Get("x-ratelimit-remaining"), fmt.Sprint(2-i); got != want {
			t.Errorf("call %d: %s remain, expected %s", i, got, want)
		}
		completed(t, resp, "order")
	}
	for range 2 {
		h := refused(t, grpcDoor.invoke(t, key, bytes.NewReader(message([]byte("order")))), 8)
		if got := h.Get("grpc-message"); !strings.HasPrefix(got, "Rate limit calls exceeded. Retry in 3") {
			t.Errorf("grpc-message %q", got)
		}
		wait, err := strconv.Atoi(h.Get("grpc-retry-pushback-ms"))
		seconds, _ := strconv.Atoi(h.Get("retry-after"))
		if err != nil || wait <= 3500_000 || wait > 3_604_000 || seconds != (wait+999)/1000 {
			t.Errorf("grpc-retry-pushback-ms %q, retry-after %q", h.Get("grpc-retry-pushback-ms"), h.Get("retry-after"))
		}
		answer{status: 429, header: h}.limited(t)
	}
	if got := shared.upstream.count(key); got != 3 {
		t.Errorf("%d calls reached the upstream", got)
	}
}

// A streaming call counts once, at its start; its messages pass in both
// directions as they come.
func TestStreamingGRPC(t *testing.T) {
	key := uniqueKey(t)
	in, out := io.Pipe()
	resp := grpcDoor.invoke(t, key, in)
	for i := range 50 {
		said := fmt.Sprint("message ", i)
		if _, err := out.Write(message([]byte(said))); err != nil {
			t.Fatal(err)
		}
		if heard, err := readMessage(resp.Body); err != nil || string(heard) != said {
			t.Fatalf("said %q, heard %q (%v)", said, heard, err)
		}
	}
	out.Close()
	completed(t, resp)
	grpcProbe.remains(t, call{path: "/shop.Orders/Create", key: key}, 2)

	// Without room a stream is refused though its messages haven't come yet.
	for range 2 {
		completed(t, grpcDoor.invoke(t, key, http.NoBody))
	}
	in, out = io.Pipe()
	defer out.Close()
	refused(t, grpcDoor.invoke(t, key, in), 8)
}

// A call that costs more than the limit isn't told when to come again: a
// pushback below 0 tells gRPC's clients not to. One that comes while Redis is
// away is told the same as others.
func TestPushback(t *testing.T) {
	h := refused(t, bigCall.invoke(t, uniqueKey(t), http.NoBody), 8)
	if h.Get("retry-after") != "" || !strings.HasPrefix(h.Get("grpc-retry-pushback-ms"), "-") {
		t.Errorf("too big: retry-after %q, grpc-retry-pushback-ms %q", h.Get("retry-after"), h.Get("grpc-retry-pushback-ms"))
	}
	h = refused(t, lostDoor.invoke(t, uniqueKey(t), http.NoBody), 14)
	if h.Get("retry-after") != "1" || h.Get("grpc-retry-pushback-ms") != "1000" {
		t.Errorf("unavailable: retry-after %q, grpc-retry-pushback-ms %q", h.Get("retry-after"), h.Get("grpc-retry-pushback-ms"))
	}
}

// Without Redis, and with on_error deny, a call is UNAVAILABLE; other requests
// are answered 503.
func TestUnavailable(t *testing.T) {
	key := uniqueKey(t)
	h := refused(t, lostDoor.invoke(t, key, http.NoBody), 14)
	if got := h.Get("grpc-message"); got != "The rate limiter is unavailable. Retry in 1 s." || h.Get("retry-after") != "1" {
		t.Errorf("headers %v", h)
	}
	a := lostDoor.get(t, "/", key, 503).unlimited(t)
	want := `{"error":{"code":"LIMITER_UNAVAILABLE","message":"The rate limiter is unavailable. Retry in 1 s.","retry_after_seconds":1}}`
	if strings.TrimSpace(a.body) != want || a.header.Get("retry-after") != "1" {
		t.Errorf("%v\n%s", a.header, a.body)
	}
	if got := shared.upstream.count(key); got != 0 {
		t.Errorf("%d requests reached the upstream", got)
	}
}

var webDoor = newDoor("grpc-web", policy(nil, perKey("calls", "1/hour")), func(c *envoyconfig.Config) {
	c.InsertFilter(envoyconfig.Plugin, "web", m{"@type": "type.googleapis.com/envoy.extensions.filters.http.grpc_web.v3.GrpcWeb"})
})

// Behind Envoy's gRPC-Web filter a call is refused as 429, which that filter
// makes a gRPC status of by gRPC's own table: 14.
func TestGRPCWeb(t *testing.T) {
	key := uniqueKey(t)
	web := func() answer {
		return webDoor.send(t, call{
			method: http.MethodPost, path: "/shop.Orders/Create", key: key,
			header: map[string]string{"content-type": "application/grpc-web+proto"}, body: bytes.NewReader(message(nil)),
			client: h2,
		})
	}
	web().must(t, 200)
	a := web().must(t, 429).limited(t)
	if a.header.Get("grpc-status") != "14" || !strings.HasPrefix(a.header.Get("grpc-message"), "Rate limit calls exceeded. Retry in") {
		t.Errorf("%v", a.header)
	}
}

// A content type that only begins like gRPC's is none.
func TestNotQuiteGRPC(t *testing.T) {
	a := bigCall.send(t, call{
		method: http.MethodPost, key: uniqueKey(t), header: map[string]string{"content-type": "application/grpcish"},
	}).must(t, 429).limitedForGood(t)
	if a.header.Get("grpc-status") != "" || !strings.HasPrefix(a.body, "{") {
		t.Errorf("%v\n%s", a.header, a.body)
	}
}
