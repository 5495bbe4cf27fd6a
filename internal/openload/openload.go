// Package openload sends HTTP requests to a gateway at a constant rate that doesn't
// depend on the answers (open loop), and sums up what came back: a latency counts
// from when its request was due, so what waits behind a slow answer isn't left out.
// It is for the tool only.
package openload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of a load.
const (
	MaxRate    = 20_000 // requests a second
	MaxLength  = 10 * time.Minute
	MaxOnRoute = 10_000 // requests without an answer at a time
	patience   = 10 * time.Second
)

// Key in a URL or a header's value becomes the number of one of Keys callers.
const Key = "{key}"

// Options say what is sent where.
type Options struct {
	Method string
	URL    string
	Header http.Header
	Rate   float64 // requests a second
	Length time.Duration
	Keys   int // callers that {key} stands for, in turn; at least 1
	// Via, if not nil, wraps the way to the gateway: a client that retries.
	Via func(http.RoundTripper) http.RoundTripper
}

// Result is what came of the requests.
type Result struct {
	Due      int64         `json:"due"`               // requests that had to be sent
	Skipped  int64         `json:"skipped"`           // not sent: MaxOnRoute were without an answer
	Failed   int64         `json:"failed"`            // no answer
	Failure  string        `json:"failure,omitempty"` // the first one's reason
	Statuses map[int]int64 `json:"statuses"`          // answers by status
	// Limited are the answers of 429 that a limit of sluice gave, Elsewhere those
	// that it passed on.
	Limited   int64 `json:"limited"`
	Elsewhere int64 `json:"limited_elsewhere"`
	// RetryAfter is the span of what the rejected were told to wait, seconds; -1
	// for nobody.
	RetryAfterMin int64 `json:"retry_after_min"`
	RetryAfterMax int64 `json:"retry_after_max"`
	// Latency from when a request was due to the end of its answer, milliseconds.
	P50, P99, P999, Max float64
	Seconds             float64 `json:"seconds"`
}

// Run sends the load. It ends early with what there is when ctx does.
func Run(ctx context.Context, o Options) (*Result, error) {
	if _, err := request(ctx, &o, 0); err != nil {
		return nil, err
	}
	base := &http.Transport{MaxIdleConnsPerHost: MaxOnRoute, DisableCompression: true}
	defer base.CloseIdleConnections()
	var way http.RoundTripper = base
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if o.Via != nil {
		way, client.Timeout = o.Via(base), 0
	}
	client.Transport = way
	s := &sums{latency: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3)}
	s.Statuses, s.RetryAfterMin, s.RetryAfterMax = map[int]int64{}, -1, -1

	var open sync.WaitGroup
	slots := make(chan struct{}, MaxOnRoute)
	start := time.Now()
	n := int64(o.Rate * o.Length.Seconds())
	for i := range n {
		due := start.Add(time.Duration(float64(i) / o.Rate * float64(time.Second)))
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(due)):
		}
		if ctx.Err() != nil {
			break
		}
		s.Due++
		select {
		case slots <- struct{}{}:
		default:
			s.Skipped++
			continue
		}
		open.Go(func() {
			defer func() { <-slots }()
			req, err := request(ctx, &o, int(i)%o.Keys)
			if err == nil {
				var resp *http.Response
				if resp, err = client.Do(req); err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if err == nil {
						s.answer(resp, time.Since(due))
						return
					}
				}
			}
			s.fail(err)
		})
	}
	open.Wait()
	s.Seconds = time.Since(start).Seconds()
	ms := func(v int64) float64 { return float64(v) / 1000 }
	s.P50, s.P99, s.P999 = ms(s.latency.ValueAtQuantile(50)), ms(s.latency.ValueAtQuantile(99)), ms(s.latency.ValueAtQuantile(99.9))
	s.Max = ms(s.latency.Max())
	return &s.Result, nil
}

// request is caller k's request.
func request(ctx context.Context, o *Options, k int) (*http.Request, error) {
	key := strconv.Itoa(k)
	req, err := http.NewRequestWithContext(ctx, o.Method, strings.ReplaceAll(o.URL, Key, key), nil)
	if err != nil {
		return nil, err
	}
	if req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return nil, errors.New("not an http:// or https:// address")
	}
	for name, values := range o.Header {
		for _, v := range values {
			v = strings.ReplaceAll(v, Key, key)
			if name == "Host" {
				req.Host = v
				continue
			}
			req.Header.Add(name, v)
		}
	}
	return req, nil
}

// sums are a result under way.
type sums struct {
	Result
	mu      sync.Mutex
	latency *hdrhistogram.Histogram
}

func (s *sums) answer(resp *http.Response, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Statuses[resp.StatusCode]++
	_ = s.latency.RecordValue(max(took.Microseconds(), 1)) // an hour is longer than any
	if resp.StatusCode != http.StatusTooManyRequests {
		return
	}
	if resp.Header.Get("x-envoy-ratelimited") == "" {
		s.Elsewhere++
		return
	}
	s.Limited++
	wait, err := strconv.ParseInt(resp.Header.Get("retry-after"), 10, 64)
	if err != nil || wait < 0 {
		return
	}
	if s.RetryAfterMin < 0 || wait < s.RetryAfterMin {
		s.RetryAfterMin = wait
	}
	s.RetryAfterMax = max(s.RetryAfterMax, wait)
}

func (s *sums) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Failed++
	if s.Failure == "" {
		s.Failure = err.Error()
	}
}
