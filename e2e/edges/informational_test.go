package edges

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
)

var (
	expectDoor = newDoor("expect", policy(nil, perKey("uploads", "2/hour")))
	relayDoor  = newDoor("expect-relayed", policy(nil, perKey("uploads", "2/hour")), manager("proxy_100_continue", true))
)

// expect sends the headers of an upload and waits for 100 Continue before its
// body. It returns the final answer, and how many answers of 1xx came before.
func (d *door) expect(t *testing.T, key string) (a answer, interim int) {
	t.Helper()
	const body = "the whole upload"
	c := d.dial(t)
	fmt.Fprintf(c, "PUT /upload HTTP/1.1\r\nhost: x\r\nx-key: %s\r\ncontent-length: %d\r\nexpect: 100-continue\r\n\r\n", key, len(body))
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusContinue {
			interim++
			if _, err := io.WriteString(c, body); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		return answer{status: resp.StatusCode, header: resp.Header, body: string(text), err: err}, interim
	}
}

// Envoy says Continue by itself before any filter; the request counts once, and
// an upload without room is refused.
func TestExpectContinue(t *testing.T) {
	key := uniqueKey(t)
	for i, status := range []int{200, 200, 429} {
		a, interim := expectDoor.expect(t, key)
		a.must(t, status).limited(t)
		if interim != 1 {
			t.Errorf("upload %d: %d answers of 1xx", i, interim)
		}
		if status == 200 && !strings.Contains(a.body, `"length":16`) {
			t.Errorf("the upstream saw %s", a.body)
		}
	}
}

// Where Envoy leaves Continue to the upstream, an upload without room is refused
// before any of its body is sent.
func TestExpectContinueOfTheUpstream(t *testing.T) {
	key := uniqueKey(t)
	for i, status := range []int{200, 200, 429, 429} {
		a, interim := relayDoor.expect(t, key)
		a.must(t, status).limited(t)
		if want := map[bool]int{true: 1, false: 0}[status == 200]; interim != want {
			t.Errorf("upload %d: %d answers of 1xx, expected %d", i, interim, want)
		}
		if status == 200 && !strings.Contains(a.body, `"length":16`) {
			t.Errorf("the upstream saw %s", a.body)
		}
	}
}

// Early hints are neither the answer nor do they take its headers.
func TestEarlyHints(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		for i := range 2 {
			req, err := call{key: key, do: "hint"}.request(expectDoor.url(t))
			if err != nil {
				t.Fatal(err)
			}
			var interim atomic.Int32
			a := roundTrip(client, req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
					interim.Add(1)
					if h.Get("ratelimit") != "" {
						t.Errorf("status %d has %v", code, h)
					}
					return nil
				},
			}))).must(t, 200).limited(t)
			if got := a.remaining(t); got != 1-i {
				t.Errorf("%d remain after request %d", got, i)
			}
		}
		expectDoor.send(t, call{key: key, do: "hint", client: client}).must(t, 429)
	}
}
