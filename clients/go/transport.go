// Package backoff is an http.RoundTripper for services that limit how often they
// are asked. It waits as long as it is told, never less, and spreads what comes
// after by chance, so that clients told the same don't come back together.
//
// It needs the standard library only: copy it, or import it.
package backoff

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// Transport sends requests and, when one is answered 429 or 503, sends it again
// later. The zero value is ready to use. A Transport may be used by many
// goroutines; its fields must not be changed then.
//
// 429 says that the request was not carried out, so any request is tried again;
// 503 doesn't, so only idempotent ones are. A body is sent again only if it can be
// had anew (Request.GetBody, which http.NewRequest sets for the usual kinds). When
// another attempt makes no sense, because none is left, the wait is too long or
// the request's context would be over by then, the answer is returned as it came.
type Transport struct {
	Base     http.RoundTripper // what sends; http.DefaultTransport if nil
	Attempts int               // at most, the first included; 5 if 0
	// MaxWait is the longest wait that is obeyed; whoever is told to wait longer
	// gets the answer at once. 1 minute if 0.
	MaxWait time.Duration
	// The wait where none is told, and what is added to one that is, is a random
	// time from 0 to Spread, which doubles with each attempt up to MaxSpread. 200 ms
	// and 10 s if 0.
	Spread, MaxSpread time.Duration

	sleep func(context.Context, time.Duration) error // for tests
}

// RoundTrip is http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	this := req
	for attempt := 1; ; attempt++ {
		resp, err := base.RoundTrip(this)
		if err != nil {
			return nil, err
		}
		wait, again := t.wait(req, resp, attempt)
		if !again {
			return resp, nil
		}
		if this, again = replay(req); !again {
			return resp, nil
		}
		discard(resp.Body)
		if err := t.pause(req.Context(), wait); err != nil {
			closeBody(this)
			return nil, err
		}
	}
}

// wait is how long to wait before the next attempt, if there is to be one.
func (t *Transport) wait(req *http.Request, resp *http.Response, attempt int) (time.Duration, bool) {
	if attempt >= or(t.Attempts, 5) {
		return 0, false
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
	case http.StatusServiceUnavailable:
		if !idempotent(req) {
			return 0, false
		}
	default:
		return 0, false
	}
	told, hopeless := Told(resp.Header, time.Now())
	if hopeless || told > or(t.MaxWait, time.Minute) {
		return 0, false
	}
	wait := told + t.jitter(attempt)
	if end, has := req.Context().Deadline(); has && time.Until(end) <= wait {
		return 0, false
	}
	return wait, true
}

// jitter is a random time whose bound doubles with each attempt.
func (t *Transport) jitter(attempt int) time.Duration {
	most := or(t.MaxSpread, 10*time.Second)
	spread := or(t.Spread, 200*time.Millisecond)
	for ; attempt > 1 && spread < most; attempt-- {
		spread *= 2
	}
	return rand.N(min(spread, most) + 1)
}

func (t *Transport) pause(ctx context.Context, d time.Duration) error {
	if t.sleep != nil {
		return t.sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// or is v, or what stands for its zero.
func or[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// idempotent reports whether carrying the request out twice is as good as once.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

// replay is the request once more; false if its body is gone.
func replay(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// discard reads what is left of a short body, so that its connection can be used
// again, and closes it.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}
