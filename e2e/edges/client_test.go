package edges

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hang is how long an answer may take before the test calls it hanging. It is
// far above every timeout that a test configures, since the machine may be busy.
const hang = 10 * time.Second

// h1 and h2 keep connections open, as a gateway's callers do. h2 speaks HTTP/2
// without TLS.
var (
	h1 = newClient(false)
	h2 = newClient(true)
)

func newClient(http2 bool) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	return &http.Client{
		Timeout: hang,
		Transport: &http.Transport{
			Protocols: p, MaxIdleConnsPerHost: 100, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is a request. Its zero value is a GET of / over HTTP/1.1.
type call struct {
	method string
	path   string
	key    string // the header x-key
	do     string // what the upstream shall do; see upstream
	header map[string]string
	body   io.Reader
	client *http.Client
}

// answer is what a caller got.
type answer struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
	proto   int // major version of HTTP
	length  int64
	err     error // of the call, or of reading the body
}

// request makes the HTTP request.
func (c call) request(base string) (*http.Request, error) {
	if c.method == "" {
		c.method = http.MethodGet
	}
	if c.path == "" {
		c.path = "/"
	}
	req, err := http.NewRequest(c.method, base+c.path, c.body)
	if err != nil {
		return nil, err
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	if c.key != "" {
		req.Header.Set("x-key", c.key)
	}
	if c.do != "" {
		req.Header.Set("x-do", c.do)
	}
	return req, nil
}

// send makes the call at a door; what goes wrong is in the answer.
func (d *door) send(t *testing.T, c call) answer {
	t.Helper()
	req, err := c.request(d.url(t))
	if err != nil {
		t.Fatal(err)
	}
	return roundTrip(c.client, req)
}

func roundTrip(client *http.Client, req *http.Request) answer {
	if client == nil {
		client = h1
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{
		status: resp.StatusCode, header: resp.Header, trailer: resp.Trailer, body: string(body),
		proto: resp.ProtoMajor, length: resp.ContentLength, err: err,
	}
}

// get asks for a path as the caller key and fails the test unless it is answered
// with that status.
func (d *door) get(t *testing.T, path, key string, status int) answer {
	t.Helper()
	return d.send(t, call{path: path, key: key}).must(t, status)
}

// must fails the test unless the call was answered in full with that status.
func (a answer) must(t *testing.T, status int) answer {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.status != status {
		t.Fatalf("answered %d, expected %d\n%v\n%.500s", a.status, status, a.header, a.body)
	}
	return a
}

// not says that an answer isn't the one that was hoped for.
func (a answer) not(what string) error {
	return errors.Join(fmt.Errorf("answered %d, not %s", a.status, what), a.err)
}

// remaining is what the closest limit has left.
func (a answer) remaining(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get("x-ratelimit-remaining"))
	if err != nil {
		t.Fatalf("x-ratelimit-remaining: %v\n%d %v", err, a.status, a.header)
	}
	return n
}

// limited fails the test unless the answer tells of a limit's decision.
func (a answer) limited(t *testing.T) answer {
	t.Helper()
	for _, name := range []string{"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-reset"} {
		if len(a.header.Values(name)) != 1 {
			t.Errorf("%s: %q", name, a.header.Values(name))
		}
	}
	if wait := a.header.Get("retry-after"); (a.status == 429) != (wait != "") {
		t.Errorf("status %d with retry-after %q", a.status, wait)
	}
	return a
}

// limitedForGood fails the test unless the answer is a rejection that waiting
// doesn't help.
func (a answer) limitedForGood(t *testing.T) answer {
	t.Helper()
	if a.header.Get("retry-after") != "" || a.header.Get("ratelimit") == "" || !strings.Contains(a.body, "Waiting doesn't help") {
		t.Errorf("%d %v\n%s", a.status, a.header, a.body)
	}
	return a
}

// unlimited fails the test when the answer tells of a limit.
func (a answer) unlimited(t *testing.T) answer {
	t.Helper()
	for name := range a.header {
		if strings.Contains(strings.ToLower(name), "ratelimit") {
			t.Errorf("%s: %q", name, a.header.Values(name))
		}
	}
	return a
}

// remains polls a door until it says that so much is left for a key: what is
// settled after an answer takes a moment.
func (d *door) remains(t *testing.T, c call, want int) {
	t.Helper()
	eventually(t, func() error {
		a := d.send(t, c)
		if a.err != nil {
			return a.err
		}
		if got := a.remaining(t); got != want {
			return fmt.Errorf("%d remain, expected %d", got, want)
		}
		return nil
	})
}

// eventually polls until ok returns nil, or fails the test with its last error.
func eventually(t *testing.T, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", hang, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// dial opens a plain connection to a door, for what net/http doesn't send.
func (d *door) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", d.address(t), hang)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	return c
}

// portOf is the port of host:port.
func portOf(addr string) int {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	return n
}
