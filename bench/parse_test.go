package main

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseWrk(t *testing.T) {
	out := `Running 1s test @ http://127.0.0.1:4711/
  1 threads and 32 connections
{"requests":16734,"us":1002003,"broken":1,"refused":2,"p50":1680,"p99":3070,"p999":4100,"max":9000}
`
	got, err := parseWrk([]byte(out))
	want := wrkLoad{Requests: 16734, Micros: 1002003, Broken: 1, Refused: 2, P50: 1680, P99: 3070, P999: 4100, Max: 9000}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "unable to connect to 127.0.0.1:1 Connection refused\n", "{\"requests\":\n"} {
		if _, err := parseWrk([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// A row that measures something else than it says fails.
func TestLoadCheck(t *testing.T) {
	ok, limited := row{name: "a", status: admitted}, row{name: "b", status: rejected}
	for _, c := range []struct {
		name string
		row  row
		load wrkLoad
		good bool
	}{
		{"all admitted", ok, wrkLoad{Requests: 1000}, true},
		{"one refused", ok, wrkLoad{Requests: 1000, Refused: 1}, false},
		{"a broken connection", ok, wrkLoad{Requests: 1000, Broken: 1}, false},
		{"nothing", ok, wrkLoad{}, false},
		{"all rejected", limited, wrkLoad{Requests: 1000, Refused: 1000}, true},
		{"a window that turned", limited, wrkLoad{Requests: 1000, Refused: 990}, true},
		{"half rejected", limited, wrkLoad{Requests: 1000, Refused: 500}, false},
	} {
		if err := c.load.check(c.row); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestParseCommands(t *testing.T) {
	info := "# Stats\r\ntotal_connections_received:3\r\ntotal_commands_processed:1234\r\n# Commandstats\r\n" +
		"cmdstat_evalsha:calls=300,usec=2000,usec_per_call=6.67,rejected_calls=0,failed_calls=1\r\n" +
		"cmdstat_eval:calls=1,usec=20,usec_per_call=20.00,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_get:calls=301,usec=20,usec_per_call=0.10,rejected_calls=0,failed_calls=0\r\n"
	got, err := parseCommands(info)
	if want := (commands{total: 1234, scripts: 301}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseCommands("total_commands_processed:many\r\n"); err == nil {
		t.Error("no error for a number that isn't one")
	}
}

func TestParseBusy(t *testing.T) {
	got, err := parseBusy([]byte("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"))
	if err != nil || got != 163*tick {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseBusy([]byte("intr 1 2 3")); err == nil {
		t.Error("no error for another file")
	}
}

func TestParseMicros(t *testing.T) {
	got := parseMicros(`goos: linux
BenchmarkIndex/path/10-2         	 1000000	       306.4 ns/op	       0 B/op	       0 allocs/op
BenchmarkStart                   	      10	 1234567.8 ns/op	 5.000 extra/op	     16 B/op	       1 allocs/op
PASS
`)
	want := []microLine{{"Index/path/10", "306", "0", "0"}, {"Start", "1234568", "16", "1"}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(microLine{})); d != "" {
		t.Error(d)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3, 1}},
		{[]float64{9, 1, 5}, spread{5, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9, 4}},
	} {
		before := slices.Clone(c.list)
		if got := spreadOf(c.list); got != c.want || !slices.Equal(before, c.list) {
			t.Errorf("%v: %+v", c.list, got)
		}
	}
	if got := (spread{}).full("%.1f"); got != "–" {
		t.Errorf("no figure is shown as %q", got)
	}
	if got := (spread{2, 1, 3, 3}).full("%.1f"); got != "2.0 (1.0–3.0)" {
		t.Errorf("shown as %q", got)
	}
}

func TestAgainstIsOfTheSameRound(t *testing.T) {
	row := []figures{{RPS: 10}, {RPS: 30}, {RPS: 1}}
	other := []figures{{RPS: 20}, {RPS: 20}, {}}
	got := against(row, other, func(a, b figures) float64 { return a.RPS / b.RPS })
	if want := (spread{1, 0.5, 1.5, 2}); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestDifference(t *testing.T) {
	before := used{envoy: time.Second, redis: time.Second, busy: 10 * time.Second, commands: commands{100, 10}}
	after := used{envoy: 1100 * time.Millisecond, redis: 1010 * time.Millisecond, service: time.Millisecond,
		busy: 12 * time.Second, commands: commands{8100, 2010}}
	f := difference(before, after, wrkLoad{Requests: 2000, Micros: 500_000, P50: 1500, cpu: 389 * time.Millisecond}, time.Second)
	want := figures{RPS: 4000, P50: 1.5, Envoy: 50, Redis: 5, Service: 0.5, Commands: 4, Scripts: 1, Others: 1.5}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	if f.cpu() != 55.5 {
		t.Errorf("%v us in all", f.cpu())
	}
}

func TestParseAb(t *testing.T) {
	out := `Concurrency Level:      10
Complete requests:      5000
Failed requests:        4003
   (Connect: 1, Receive: 0, Length: 4000, Exceptions: 2)
Non-2xx responses:      4000
`
	got, err := parseAb([]byte(out))
	if want := (abResult{Requests: 5000, Failed: 3, Refused: 4000}); err != nil || got != want || got.wrong() != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := parseAb([]byte("Complete requests:      5000\nFailed requests:        0\n")); err != nil || got.wrong() != 4000 {
		t.Errorf("without a rejection: %+v, %v", got, err)
	}
	if _, err := parseAb([]byte("apr_socket_recv: Connection refused (111)")); err == nil {
		t.Error("no error for a failure")
	}
}
