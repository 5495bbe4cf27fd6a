package edges

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

var protocolsDoor = newDoor("protocols", policy(nil, perKey("all", "3/hour")),
	manager("http_protocol_options", m{"accept_http_10": true, "default_host_for_http_10": "x"}))

// readAnswer reads one answer of HTTP/1.
func readAnswer(t *testing.T, r *bufio.Reader) answer {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, trailer: resp.Trailer, body: string(body), proto: resp.ProtoMajor, err: err}
}

// HTTP/1.0, without a host.
func TestHTTP10(t *testing.T) {
	key := uniqueKey(t)
	for _, status := range []int{200, 200, 200, 429} {
		protocolsDoor.raw(t, "GET / HTTP/1.0\r\nx-key: "+key+"\r\n\r\n").must(t, status).limited(t)
	}
}

// Requests sent together on one connection of HTTP/1.1 are answered in their
// order, each by its own decision.
func TestPipelining(t *testing.T) {
	key := uniqueKey(t)
	c := protocolsDoor.dial(t)
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "GET /%d HTTP/1.1\r\nhost: x\r\nx-key: %s\r\n\r\n", i, key)
	}
	if _, err := io.WriteString(c, text.String()); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for i, status := range []int{200, 200, 200, 429, 429} {
		a := readAnswer(t, r).must(t, status).limited(t)
		if status == 200 && (!strings.Contains(a.body, fmt.Sprintf(`"path":"/%d"`, i)) || a.remaining(t) != 2-i) {
			t.Errorf("answer %d: %v %s", i, a.header, a.body)
		}
	}
}

// Many streams of one HTTP/2 connection at once: exactly the limit passes.
func TestStreamsOfOneConnection(t *testing.T) {
	key := uniqueKey(t)
	client := newClient(true)
	defer client.CloseIdleConnections()
	protocolsDoor.send(t, call{path: "/", key: uniqueKey(t), client: client}).must(t, 200) // opens the connection
	var passed, refused atomic.Int32
	var wg sync.WaitGroup
	url := manyDoor.url(t)
	for range 60 {
		wg.Go(func() {
			req, err := call{path: "/many", key: key}.request(url)
			if err != nil {
				t.Error(err)
				return
			}
			a := roundTrip(client, req)
			switch {
			case a.err != nil || a.proto != 2:
				t.Errorf("HTTP/%d: %v", a.proto, a.err)
			case a.status == 200:
				passed.Add(1)
			case a.status == 429:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 40 || refused.Load() != 20 {
		t.Errorf("%d passed and %d were refused", passed.Load(), refused.Load())
	}
}

var manyDoor = newDoor("many", policy(nil, perKey("many", "40/hour")))

// frames speaks HTTP/2 by hand.
type frames struct {
	*http2.Framer
	head *hpack.Encoder
	text strings.Builder
}

func (d *door) frames(t *testing.T) *frames {
	t.Helper()
	c := d.dial(t)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := &frames{Framer: http2.NewFramer(c, c)}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.head = hpack.NewEncoder(&f.text)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return f
}

// open starts a request on a stream.
func (f *frames) open(t *testing.T, stream uint32, end bool, fields ...string) {
	t.Helper()
	f.text.Reset()
	for i := 0; i < len(fields); i += 2 {
		if err := f.head.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
	err := f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: []byte(f.text.String()), EndHeaders: true, EndStream: end,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answerTo reads frames until a stream's headers come, and returns its status.
func (f *frames) answerTo(t *testing.T, stream uint32) string {
	t.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := frame.(*http2.MetaHeadersFrame); ok && h.StreamID == stream {
			return h.PseudoValue("status")
		}
	}
}

// answerOrReset is answerTo, or "reset" when the stream or the connection ends.
func (f *frames) answerOrReset(t *testing.T, stream uint32) string {
	t.Helper()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return "reset"
		}
		switch x := frame.(type) {
		case *http2.MetaHeadersFrame:
			if x.StreamID == stream {
				return x.PseudoValue("status")
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return "reset"
		}
	}
}

// Streams that are reset while they are held, or before, do no harm to those
// that come after, and what Redis counted for them stays counted.
func TestStreamsThatAreReset(t *testing.T) {
	key := uniqueKey(t)
	f := manyDoor.frames(t)
	request := []string{":method", "GET", ":scheme", "http", ":authority", "x", ":path", "/many", "x-key", key}
	var stream uint32 = 1
	for range 30 {
		f.open(t, stream, true, request...)
		if err := f.WriteRSTStream(stream, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
		stream += 2
	}
	passed := 0
	for range 60 {
		f.open(t, stream, true, request...)
		if f.answerTo(t, stream) == "200" {
			passed++
		}
		stream += 2
	}
	if passed < 10 || passed > 40 {
		t.Errorf("%d passed", passed)
	}
	// The last one was asked for after all resets were dealt with.
	f.open(t, stream, true, request...)
	if got := f.answerTo(t, stream); got != "429" {
		t.Errorf("answered %s", got)
	}
	if got := stats(t).Sum("sluice_panics_total", nil); got != 0 {
		t.Errorf("%v panics", got)
	}
}
