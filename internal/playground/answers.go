package playground

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

const (
	maxAnswers   = 40   // answers that a page is given at a time
	maxShownBody = 2000 // bytes of a body
)

// Answer is one answer of the gateway, in short.
type Answer struct {
	At     int64  `json:"at"`     // Unix time, milliseconds
	Status int    `json:"status"` // 0 when there was none
	Caller int    `json:"caller"`
	Limit  string `json:"limit,omitempty"` // the answer's ratelimit header
	Failed string `json:"failed,omitempty"`

	proto  string
	header http.Header
	body   []byte
}

// FullAnswer is an answer as it came, and what it answers.
type FullAnswer struct {
	At      int64       `json:"at"`
	Request string      `json:"request"` // as curl would send it
	Status  int         `json:"status"`
	Line    string      `json:"line"` // HTTP/1.1 429 Too Many Requests
	Headers [][2]string `json:"headers"`
	Body    string      `json:"body"`
	Failed  string      `json:"failed,omitempty"`
}

// Answers is what came since the page was last told.
type Answers struct {
	Answers  []Answer    `json:"answers"` // the latest of them
	Rejected *FullAnswer `json:"rejected,omitempty"`
}

// Totals count answers since the traffic started.
type Totals struct {
	Sent     int64 `json:"sent"`
	OK       int64 `json:"ok"`
	Rejected int64 `json:"rejected"` // 429
	Other    int64 `json:"other"`
	Failed   int64 `json:"failed"`  // without an answer
	Dropped  int64 `json:"dropped"` // not sent, since too many waited for one
}

// answers keeps the latest answers.
type answers struct {
	mu       sync.Mutex
	latest   []Answer
	rejected *FullAnswer
	total    Totals
}

func (a *answers) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.latest, a.rejected, a.total = nil, nil, Totals{}
}

func (a *answers) add(x Answer, req *http.Request) {
	x.Limit = x.header.Get("Ratelimit")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total.Sent++
	switch {
	case x.Failed != "":
		a.total.Failed++
	case x.Status == http.StatusTooManyRequests:
		a.total.Rejected++
		full := x.full(req)
		a.rejected = &full
	case x.Status < 400:
		a.total.OK++
	default:
		a.total.Other++
	}
	x.header, x.body = nil, nil
	a.latest = append(a.latest, x)
	if len(a.latest) > 2*maxAnswers {
		a.latest = slices.Delete(a.latest, 0, len(a.latest)-maxAnswers)
	}
}

// take returns what came since the last time.
func (a *answers) take() Answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := Answers{Answers: a.latest[max(0, len(a.latest)-maxAnswers):], Rejected: a.rejected}
	a.latest, a.rejected = nil, nil
	return out
}

func (a *answers) totals() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

// full is the answer as it came.
func (x *Answer) full(req *http.Request) FullAnswer {
	out := FullAnswer{At: x.At, Status: x.Status, Failed: x.Failed, Request: curl(req)}
	if x.Status != 0 {
		out.Line = fmt.Sprintf("%s %d %s", x.proto, x.Status, http.StatusText(x.Status))
	}
	for name, values := range x.header {
		for _, v := range values {
			out.Headers = append(out.Headers, [2]string{strings.ToLower(name), v})
		}
	}
	slices.SortFunc(out.Headers, func(a, b [2]string) int {
		if n := headerRank(a[0]) - headerRank(b[0]); n != 0 {
			return n
		}
		return strings.Compare(a[0], b[0])
	})
	out.Body = strings.ToValidUTF8(string(x.body[:min(len(x.body), maxShownBody)]), "�")
	return out
}

// headerRank puts what a limiter says first.
func headerRank(name string) int {
	switch {
	case name == "retry-after":
		return 0
	case strings.HasPrefix(name, "ratelimit"):
		return 1
	case strings.HasPrefix(name, "x-ratelimit"), strings.HasPrefix(name, "x-sluice"), name == "x-envoy-ratelimited":
		return 2
	}
	return 3
}

// plainError is what went wrong, without the URL that everyone knows.
func plainError(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}
