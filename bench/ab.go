package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"sluice/internal/stack/envoyconfig"
)

// What ab sends, and the limit that it meets.
const (
	abRequests    = 5000
	abConcurrency = 10
	abLimit       = 1000
)

// abRow has a window that doesn't end while ab runs. ab speaks HTTP/1.0, and waits
// for the gateway to close the connection: Envoy would wait a second for ab when an
// answer came before the request had ended.
var abRow = row{
	name:   "ab",
	policy: `{"name":"tenant","key":"header:x-user-id","rate":"` + strconv.Itoa(abLimit) + `/hour"}`,
	other: func(c *envoyconfig.Config, _ *bed) {
		c.Manager(envoyconfig.Gateway, "http_protocol_options", m{"accept_http_10": true})
		c.Manager(envoyconfig.Gateway, "delayed_close_timeout", "0s")
	},
	status: admitted, keys: 1,
}

// abResult is what ab counted.
type abResult struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"` // no answer, or a broken one
	Refused  int `json:"refused"`
}

// ab runs ApacheBench on a gateway of its own.
func (b *bed) ab(ctx context.Context) (abResult, error) {
	e, err := b.startGateway(ctx, "ab", abRow)
	if err != nil {
		return abResult{}, err
	}
	defer e.Stop()
	if err := b.ready(ctx, abRow); err != nil { // the probe was counted
		return abResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, b.tools.ab, "-q", "-n", strconv.Itoa(abRequests), "-c", strconv.Itoa(abConcurrency),
		"-H", "x-user-id: tenant", e.URL()+"/").CombinedOutput()
	if err != nil {
		return abResult{}, fmt.Errorf("ab: %w: %s", err, out)
	}
	return parseAb(out)
}

var abFigure = regexp.MustCompile(`(?m)^(Complete requests|Failed requests|Non-2xx responses): +(\d+)`)

// abLengths are answers that ab calls failed because another answer was longer: a
// 429 has another body than a 200.
var abLengths = regexp.MustCompile(`Length: (\d+)`)

// parseAb reads ab's report.
func parseAb(out []byte) (abResult, error) {
	found := map[string]int{}
	for _, m := range abFigure.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[2]))
		if err != nil {
			return abResult{}, fmt.Errorf("ab's report: %w", err)
		}
		found[string(m[1])] = n
	}
	requests, ok := found["Complete requests"]
	if !ok {
		return abResult{}, fmt.Errorf("ab printed no figures:\n%s", bytes.TrimSpace(out))
	}
	r := abResult{Requests: requests, Failed: found["Failed requests"], Refused: found["Non-2xx responses"]}
	if m := abLengths.FindSubmatch(out); m != nil {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return abResult{}, fmt.Errorf("ab's report: %w", err)
		}
		r.Failed -= n
	}
	return r, nil
}
