package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/accesslog"
)

var update = os.Getenv("UPDATE_GOLDEN") != ""

func TestReports(t *testing.T) {
	const limits = `
limits:
- {name: per-ip, key: ip, rate: [10/s, 200/min]}
- {name: api, match: {path: /api/*}, rate: 60/min, algorithm: token_bucket, burst: 5, shadow: true}
- {name: user, key: header:x-user-id, rate: 10/s}
- {name: never, match: {method: DELETE}, rate: 1/s}
`
	var log strings.Builder
	for i := range 300 {
		ip, second := i%7%3, 10+i/15
		if i%50 == 7 {
			second -= 5 // late
		}
		path := []string{"/", "/api/x"}[i%2]
		fmt.Fprintf(&log, "192.0.2.%d - - [04/Mar/2026:05:06:%02d +0000] \"GET %s HTTP/1.1\" 200 12 \"-\" \"x\"\n", ip, second, path)
		if i%100 == 99 {
			log.WriteString("noise\n")
		}
	}
	p, err := accesslog.ParseFormat("combined", nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Open(t.Context(), []io.Reader{strings.NewReader(log.String())}, accesslog.Options{Parser: p})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	logReport := &LogReport{Files: []string{"access.log"}, Format: p.Name(), Lines: l.Lines, Read: l.Read, Skipped: l.Skipped(), OutOfOrder: l.OutOfOrder, Problems: l.Problems}
	fromLog := simulated(t, configure(t, limits), NewLog(l, true), Options{Top: 2, Suggest: true})
	fromLog.Log = logReport
	fromLoad := simulated(t, configure(t, limits), loadOf(t, "poisson 20/s", func(o *LoadOptions) { o.Keys, o.Path = 3, "/api/y" }), Options{Top: 2, Algorithms: []string{"sliding_log", "fixed_window"}})
	fromLoad.Load = []string{"poisson 20/s"}
	for name, r := range map[string]*Report{"log": fromLog, "load": fromLoad} {
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		js, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", b.String())
		golden(t, name+".json", string(js)+"\n")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; UPDATE_GOLDEN=1 go test ./internal/simulate makes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (UPDATE_GOLDEN=1 makes it anew): %s", name, diff)
	}
}
