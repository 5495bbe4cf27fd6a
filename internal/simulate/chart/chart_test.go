package chart

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"sluice/internal/simulate"
)

func report(t *testing.T, path string, algorithms ...string) *simulate.Report {
	t.Helper()
	c, err := simulate.LoadConfig("limits.yaml", []byte("limits:\n- {name: per-ip, match: {path: /a}, key: ip, rate: 10/s}\n- {name: 'all', match: {path: /a}, rate: 20/s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	shape, err := simulate.ParseShape("poisson 50/s")
	if err != nil {
		t.Fatal(err)
	}
	in, err := simulate.NewLoad(simulate.LoadOptions{Shapes: []simulate.Shape{shape}, For: 20 * time.Second, Method: "GET", Path: path, Host: "h", Keys: 3, Status: 200})
	if err != nil {
		t.Fatal(err)
	}
	r, err := simulate.Simulate(context.Background(), c, in, simulate.Options{Series: true, Algorithms: algorithms})
	if err != nil {
		t.Fatal(err)
	}
	r.Load = []string{shape.String()}
	return r
}

func drawn(t *testing.T, r *simulate.Report, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(r, format, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The same report makes the same file, byte for byte: pictures can be committed.
func TestReproducible(t *testing.T) {
	for _, format := range []string{"svg", "png"} {
		first := drawn(t, report(t, "/a"), format)
		if again := drawn(t, report(t, "/a"), format); again != first {
			t.Errorf("two %s of one report differ", format)
		}
	}
}

func TestSVG(t *testing.T) {
	svg := drawn(t, report(t, "/a", "sliding_log", "fixed_window"), "svg")
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, says := range []string{"per-ip, 10/s", "all, 20/s", "sliding_log", "fixed_window", "the limit", "seconds", "admitted/s", "units in the window", "sans-serif"} {
		if !strings.Contains(svg, says) {
			t.Errorf("the picture doesn't say %q", says)
		}
	}
}

func TestPNG(t *testing.T) {
	img, err := png.Decode(strings.NewReader(drawn(t, report(t, "/a"), "png")))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, a := img.At(1, 1).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff || a != 0xffff {
		t.Error("the background isn't white")
	}
}

func TestNothingToPlot(t *testing.T) {
	if err := Write(report(t, "/other"), "svg", io.Discard); err == nil {
		t.Error("no error")
	}
}
