package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/openload"
)

// How answers are told apart, by answers as gateways and upstreams give them; e2e
// TestBenchCounts asks a real gateway.
func TestBench(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-User") {
		case "u0":
			w.Header().Set("x-envoy-ratelimited", "true")
			w.Header().Set("retry-after", "7")
			w.WriteHeader(429)
		case "u1":
			w.WriteHeader(429)
		}
	}))
	defer s.Close()
	args := []string{"bench", s.URL + "/{key}", "-H", "x-user: u{key}", "--keys", "4", "--rate", "200/s", "--for", "200ms"}
	out, err := sluice(t, args...)
	for _, says := range []string{"40 requests in", "200  20", "429  20", "10 by sluice, 10 by others", "told to wait: 7 to 7 s", "p99.9"} {
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(says), " ")) {
			t.Errorf("no %q in (%v)\n%s", says, err, out)
		}
	}
	out, err = sluice(t, append(args, "--json")...)
	var r openload.Result
	if jsonErr := json.Unmarshal([]byte(out), &r); err != nil || jsonErr != nil || r.Due != 40 || r.Statuses[200] != 20 || r.Limited != 10 {
		t.Errorf("%v %v\n%s", err, jsonErr, out)
	}
}

func TestBenchBadInput(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"bench":                                  {exitUsage, "give the gateway's URL"},
		"bench ftp://x/":                         {exitUsage, "not an http:// or https:// address"},
		"bench /hello":                           {exitUsage, "not an http:// or https:// address"},
		"bench http://127.0.0.1:1/ --rate many":  {exitUsage, "--rate"},
		"bench http://127.0.0.1:1/ --rate 9e6/s": {exitUsage, "at most 20000/s"},
		"bench http://127.0.0.1:1/ --for 11m":    {exitUsage, "at most 10m0s"},
		"bench http://127.0.0.1:1/ --keys 0":     {exitUsage, "at least 1"},
		"bench http://127.0.0.1:1/ -H nonsense":  {exitUsage, "expected 'name: value'"},
		"bench http://127.0.0.1:1/ --for 50ms":   {exitFailed, "nothing was answered"},
	} {
		_, err := sluice(t, strings.Fields(line)...)
		if err == nil || exitCode(err) != want.code || !strings.Contains(err.Error(), want.says) {
			t.Errorf("sluice %s: %v", line, err)
		}
	}
}
