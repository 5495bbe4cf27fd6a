package edges

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"sluice/internal/stack"
)

// upstream is what requests are sent on to. It does what the header x-do says,
// a word and maybe a value after a colon, and echoes the request without one.
type upstream struct {
	addr   string
	server *http.Server

	mu    sync.Mutex
	seen  map[string]int // requests by x-key
	gates map[string]chan struct{}
}

// echo is the body of an answer to a request without x-do.
type echo struct {
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Header  http.Header `json:"header"`
	Trailer http.Header `json:"trailer"`
	Length  int64       `json:"length"` // of the body, bytes
	SHA256  string      `json:"sha256"` // of the body
}

func startUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", stack.Addr(0))
	if err != nil {
		return nil, err
	}
	u := &upstream{addr: l.Addr().String(), seen: map[string]int{}, gates: map[string]chan struct{}{}}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	u.server = &http.Server{Handler: u, Protocols: p, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 1 << 20}
	go func() { _ = u.server.Serve(l) }() // ends with ErrServerClosed
	return u, nil
}

func (u *upstream) stop() { _ = u.server.Close() }

// count is how many requests with that x-key came.
func (u *upstream) count(key string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[key]
}

func (u *upstream) note(key string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen[key]++
	return u.seen[key]
}

// gate is closed by release.
func (u *upstream) gate(name string) chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gates[name] == nil {
		u.gates[name] = make(chan struct{})
	}
	return u.gates[name]
}

// release answers the requests that wait for that name.
func (u *upstream) release(name string) { close(u.gate(name)) }

// ServeHTTP answers a request.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nth := u.note(r.Header.Get("x-key"))
	if strings.HasPrefix(r.Header.Get("content-type"), "application/grpc") {
		echoGRPC(w, r)
		return
	}
	word, value, _ := strings.Cut(r.Header.Get("x-do"), ":")
	n, _ := strconv.Atoi(value) // 0 for what isn't a number
	switch word {
	case "":
		u.echo(w, r)
	case "websocket":
		echoWebSocket(w, r)
	case "status":
		w.WriteHeader(n)
	case "fail": // the first n requests of a key
		if nth <= n {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case "redirect":
		http.Redirect(w, r, value, http.StatusFound)
	case "reset": // before any answer
		panic(http.ErrAbortHandler)
	case "break": // within the answer
		w.Header().Set("content-length", "1000")
		_, _ = io.WriteString(w, "half")
		flush(w)
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
	case "wait": // until release, and fail
		select {
		case <-u.gate(value):
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusInternalServerError)
	case "drip": // an answer without end
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprintln(w, i); err != nil {
				return
			}
			flush(w)
			time.Sleep(5 * time.Millisecond)
		}
	case "hint":
		w.Header().Set("link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusOK)
	case "header": // NAME=VALUE
		name, v, _ := strings.Cut(value, "=")
		w.Header().Set(name, v)
		w.WriteHeader(http.StatusOK)
	case "limits": // the upstream has limits of its own, of which so many remain
		w.Header().Set("ratelimit-policy", `"own";q=7;w=60`)
		w.Header().Set("ratelimit", fmt.Sprintf(`"own";r=%d;t=9`, n))
		w.Header().Set("x-ratelimit-limit", "7")
		w.Header().Set("x-ratelimit-remaining", value)
		w.Header().Set("x-ratelimit-reset", "9")
		w.WriteHeader(http.StatusOK)
	case "trailer": // NAME=VALUE
		name, v, _ := strings.Cut(value, "=")
		w.Header().Set("trailer", name)
		_, _ = io.WriteString(w, "body")
		flush(w)
		w.Header().Set(name, v)
	case "json": // the body, in pieces
		w.Header().Set("content-type", "application/json")
		pieces(w, value, 7)
	case "say": // the request's body, as JSON
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("content-type", "application/json")
		_, _ = w.Write(text)
	case "encoded": // the body, which isn't what it says it is
		w.Header().Set("content-type", "application/json")
		w.Header().Set("content-encoding", "gzip")
		_, _ = io.WriteString(w, value)
	case "events": // bodies of server-sent events
		w.Header().Set("content-type", "text/event-stream")
		for event := range strings.SplitSeq(value, "|") {
			pieces(w, "data: "+event+"\n\n", 11)
		}
	case "bytes": // that many
		_, _ = io.CopyN(w, zeros{}, int64(n))
	default:
		http.Error(w, "x-do: "+word, http.StatusTeapot)
	}
}

func (u *upstream) echo(w http.ResponseWriter, r *http.Request) {
	sum := sha256.New()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		return
	}
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(echo{
		r.Method, r.RequestURI, r.Header, r.Trailer, n, hex.EncodeToString(sum.Sum(nil)),
	})
}

// pieces writes text n bytes at a time, each sent at once.
func pieces(w http.ResponseWriter, text string, n int) {
	for len(text) > 0 {
		k := min(n, len(text))
		_, _ = io.WriteString(w, text[:k])
		flush(w)
		text = text[k:]
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func echoWebSocket(w http.ResponseWriter, r *http.Request) {
	c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		kind, text, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, text) != nil {
			return
		}
	}
}

// echoGRPC sends each message back as it comes and ends with status 0.
func echoGRPC(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "application/grpc")
	w.Header().Set("trailer", "grpc-status")
	flush(w)
	for {
		text, err := readMessage(r.Body)
		if err != nil {
			break
		}
		_, _ = w.Write(message(text))
		flush(w)
	}
	w.Header().Set("grpc-status", "0")
}
