// Package chaos breaks Redis, the network and gateways under load, and checks
// what callers get meanwhile: that every request is answered, in time, and that
// no window holds more than a stated bound.
//
// `go test ./chaos` runs the faults that matter most; `make chaos` runs all of
// them several times and writes docs/reliability.md. A fault is one row of
// scenarios: what is done, and which bounds it must keep.
package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"sluice/internal/pauses"
	"sluice/internal/stack"
)

var (
	long   = flag.Bool("long", false, "run every fault, several times")
	times  = flag.Int("rounds", 0, "make each fault so often; 0 for once, or three times with -long")
	report = flag.String("report", "", "write what was measured to this file, a path from the checkout's folder")
)

// rounds is how often each fault is made; the worst of all rounds counts.
func rounds() int {
	if *times > 0 {
		return *times
	}
	if *long {
		return 3
	}
	return 1
}

func TestMain(m *testing.M) {
	pauses.Main()
	flag.Parse()
	root, err := stack.Root()
	if err == nil {
		err = stack.BuildModule(context.Background(), root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// beds are what faults are made on, one after the other.
var beds = []struct {
	name      string
	start     func(*testing.T) *bed
	scenarios []scenario
}{
	{"one Redis", newBed, scenarios},
	{"cluster", newClusterBed, clusterScenarios},
}

// TestFaults makes all faults of a bed on the same gateways.
func TestFaults(t *testing.T) {
	begun := time.Now()
	facts := machine(t)
	var rows []*row
	for _, on := range beds {
		t.Run(on.name, func(t *testing.T) {
			b := on.start(t)
			for i := range on.scenarios {
				s := &on.scenarios[i]
				if !s.short && !*long {
					continue
				}
				row := &row{scenario: s}
				rows = append(rows, row)
				t.Run(s.name, func(t *testing.T) {
					for range rounds() {
						m := s.round(t, b)
						t.Log(m)
						row.add(m)
					}
				})
			}
		})
	}
	if *report == "" || t.Failed() {
		return
	}
	writeReport(t, *report, facts, rows, time.Since(begun))
}
