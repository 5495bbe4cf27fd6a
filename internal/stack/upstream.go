package stack

import (
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"
)

// Upstream is a server for Envoy to send requests to. It speaks HTTP/1.1 and,
// without TLS, HTTP/2; it answers with what it was asked, and counts.
type Upstream struct {
	Addr string // host:port

	server *http.Server
	mu     sync.Mutex
	count  map[string]int
	total  int
	answer Answer
}

// Answer is how an Upstream answers.
type Answer struct {
	Status int         // 200 when 0
	Header http.Header // added to the answer
	Delay  time.Duration
	Body   string // in place of the echo when not empty
}

// Echo is the JSON body of an Upstream's answer.
type Echo struct {
	Method string      `json:"method"`
	Path   string      `json:"path"` // with the query
	Host   string      `json:"host"`
	Header http.Header `json:"header"`
}

// StartUpstream starts an upstream on a free port.
func StartUpstream() (*Upstream, error) {
	l, err := net.Listen("tcp", Addr(0))
	if err != nil {
		return nil, err
	}
	u := &Upstream{Addr: l.Addr().String(), count: map[string]int{}}
	u.server = &http.Server{Handler: u, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	u.server.Protocols.SetHTTP1(true)
	u.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = u.server.Serve(l) }() // ends with ErrServerClosed on Stop
	return u, nil
}

// ServeHTTP counts the request and answers it.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.total++
	u.count[r.URL.Path]++
	a := u.answer
	u.mu.Unlock()
	if a.Delay > 0 {
		select {
		case <-time.After(a.Delay):
		case <-r.Context().Done():
			return
		}
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if a.Body == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	if a.Body != "" {
		_, _ = w.Write([]byte(a.Body))
		return
	}
	_ = json.NewEncoder(w).Encode(Echo{r.Method, r.URL.RequestURI(), r.Host, r.Header})
}

// SetAnswer changes how requests from now on are answered.
func (u *Upstream) SetAnswer(a Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = a
}

// Count is how many requests for path came, without the query.
func (u *Upstream) Count(path string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count[path]
}

// Total is how many requests came.
func (u *Upstream) Total() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.total
}

// Stop closes the server and every connection to it.
func (u *Upstream) Stop() { _ = u.server.Close() }
