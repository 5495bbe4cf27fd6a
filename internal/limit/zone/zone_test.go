package zone_test

import (
	"archive/zip"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/limit"
	"sluice/internal/limit/zone"
)

func TestUnknownZones(t *testing.T) {
	for _, name := range []string{"", "Local", "Europe/Atlantis", "Europe", "europe/berlin", "../etc/passwd", "Europe/Berlin\x00", strings.Repeat("Europe/", 1000)} {
		if _, err := zone.Load(name); err == nil {
			t.Errorf("zone %q was found", name)
		}
	}
}

// until is how far every moment's clock is compared: 2150.
const until = 5_680_281_600

// Every zone's clocks are what Go's own database says, at every change and
// around it, and at random moments long after.
func TestEveryZoneAgainstGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	zones, changes := 0, 0
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := time.LoadLocationFromTZData(f.Name, text)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zone.Load(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if z.Name != f.Name {
			t.Errorf("%s is called %q", f.Name, z.Name)
		}
		zones++
		changes += compare(t, z, loc)
	}
	if zones < 500 || changes < 20_000 {
		t.Errorf("only %d zones with %d changes", zones, changes)
	}
}

// compare returns how many changes of clocks it came by.
func compare(t *testing.T, z *limit.Zone, loc *time.Location) int {
	t.Helper()
	same := func(at int64) (till int64) {
		t.Helper()
		offset, from, till := z.At(at)
		if from > at || at >= till {
			t.Fatalf("%s: %d is not from %d till %d", z.Name, at, from, till)
		}
		if _, want := time.Unix(at, 0).In(loc).Zone(); offset != int64(want) {
			t.Fatalf("%s at %v: %d s from UTC, want %d: the database is out of date (go generate ./internal/limit/zone), or wrong", z.Name, time.Unix(at, 0).UTC(), offset, want)
		}
		return till
	}
	changes := 0
	for at := int64(zone.Base); at < until; changes++ {
		till := same(at)
		end := min(till, until)
		for range 3 {
			same(at + rand.Int64N(end-at))
		}
		same(end - 1)
		at = end
	}
	for range 200 {
		same(until + rand.Int64N(50_000_000_000))
	}
	return changes
}
