package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// round1 is one round's figures of a row with a CPU, rate and script calls.
func round1(rps, cpu float64) []figures { return []figures{{RPS: rps, Envoy: cpu, Scripts: 1}} }

// known is a report of made-up figures.
func known() *report {
	f := map[string][]figures{
		rowNone: round1(100, 10), rowService: round1(30, 110), rowOne: round1(65, 30), rowThree: round1(50, 40),
		rowLocal429: round1(100, 5), rowMemory429: round1(50, 10),
	}
	return &report{
		tables: tables, figures: f,
		steady:  map[string][]steadyFigures{rowOne: {{Rate: 10, Row: latencies{P50: 2, P99: 4, P999: 5}, Base: latencies{P50: 1, P99: 2, P999: 2}, RTT50: 1}}},
		options: options{plan: plan{Rounds: 1, Length: time.Second}, out: "x.md"},
	}
}

// Verdicts follow from the figures, and what wasn't measured is never met.
func TestTargets(t *testing.T) {
	r := known()
	r.targetSection()
	text := r.text.String()
	for _, want := range []string{
		"| 0.20 | ≤ 0.25: met | ≤ 0.20: met |",
		"| 2.17 | ≥ 1.70: met | ≥ 2.00: met |",
		"| 0.65 | ≥ 0.60: met | ≥ 0.65: met |",
		"| 1.50 | ≤ 1.30: **not met** | – |",
		"| 0.50 | ≥ 0.55: **not met** | ≥ 0.65: **not met** |",
		"| 1.00 | ≤ 1.00: met | – |", // p99: (4 - 2) ÷ (1.5 + 0.5)
		"| – | ≤ 40000: not measured | – |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	f := r.steady[rowOne]
	f[0].Row.Lost = 0.1
	for _, target := range targets {
		if strings.HasPrefix(target.what, "p99 added") && target.figure(r).n != 0 {
			t.Error("a rate that the machine couldn't do is a figure")
		}
	}
}

// The report says where PINGs came from, and when that isn't where they should.
func TestAboutPing(t *testing.T) {
	const from, instead = "from the gateway's processor", "from any processor that isn't the gateway's alone"
	r := known()
	for _, apart := range []bool{true, false} {
		r.steady[rowOne][0].Apart = apart
		r.text.Reset()
		r.steadySection()
		if text := r.text.String(); strings.Contains(text, from) != apart || strings.Contains(text, instead) == apart {
			t.Errorf("apart %v:\n%s", apart, text)
		}
	}
}

// A load that the machine couldn't do shows nothing; one that admits other than
// the limit isn't met.
func TestScaleTargets(t *testing.T) {
	r := &report{scale: &scaleResult{Steady: exactScale{Admitted: 4500, Worst: 5010, Load: latencies{P99: 1}}}}
	count := func() (met, not, unknown int) {
		for _, target := range targets {
			if !strings.HasPrefix(target.what, "…") && !strings.HasPrefix(target.what, "8 gateways") {
				continue
			}
			switch v := target.verdict(target.figure(r), target.must); {
			case strings.HasSuffix(v, ": met"):
				met++
			case strings.HasSuffix(v, "not met**"):
				not++
			default:
				unknown++
			}
		}
		return
	}
	// Met: the three p99 and the commands. Not: both rates, and the fullest second.
	if met, not, unknown := count(); met != 4 || not != 3 || unknown != 0 {
		t.Errorf("%d met, %d not, %d unknown", met, not, unknown)
	}
	r.scale.Steady.Load.Lost, r.scale.Few.Load.Lost = 0.01, 0.01
	if _, _, unknown := count(); unknown != 4 {
		t.Errorf("%d unknown", unknown)
	}
}

// The same figures make the same picture, which is well-formed and names its rows.
func TestPictures(t *testing.T) {
	r := known()
	for _, p := range pictures {
		b := p.bars(r)
		first, err := drawn(p, b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := drawn(p, p.bars(r))
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s isn't reproducible: %v", p.file, err)
		}
		dec := xml.NewDecoder(bytes.NewReader(first))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.file, err)
			}
		}
		if !bytes.Contains(first, []byte(">"+rowOne+"<")) || !strings.Contains(p.alt(r), rowOne+" ") {
			t.Errorf("%s or its text doesn't name %q: %s", p.file, rowOne, p.alt(r))
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parse(nil)
	if err != nil || o.budget > 10*time.Minute || !o.has(partScale) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"-rounds 0", "-parts x", "-parts steady", "-soak -1s", "-soak-rate 0", "-budget 0s", "-rows (", "x"} {
		if _, err := parse(strings.Fields(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// The first round is always made, others only when they fit.
func TestBudget(t *testing.T) {
	now := time.Now()
	p := plan{Until: now.Add(10 * time.Second)}
	if !p.fits(0, now.Add(-time.Hour)) || !p.fits(2, now.Add(-10*time.Second)) || p.fits(1, now.Add(-20*time.Second)) {
		t.Error("a round is begun that doesn't fit, or one isn't that does")
	}
	if !(plan{}).fits(9, now.Add(-time.Hour)) {
		t.Error("no budget is a bound")
	}
}
