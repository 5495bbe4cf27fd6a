// Command gen writes the time zones of package zone, out of the database that
// comes with Go. go generate runs it there.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"sluice/internal/limit"
	"sluice/internal/limit/zone"
)

// until is how far changes are looked for: 2100. By then every zone goes by its
// rule.
const until = 4_102_444_800

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return err
	}
	defer files.Close()
	clocks := map[string]string{} // a zone's clock by its name
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if clocks[f.Name], err = clock(f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return os.WriteFile("zones.bin", database(clocks), 0o644)
}

// database is all of them, as package zone reads it.
func database(clocks map[string]string) []byte {
	names := make([]string, 0, len(clocks))
	for name := range clocks {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []string // each clock once
	out := binary.AppendVarint(nil, int64(len(names)))
	before := ""
	for _, name := range names {
		i := slices.Index(list, clocks[name])
		if i < 0 {
			i = len(list)
			list = append(list, clocks[name])
		}
		same := 0
		for same < len(name) && same < len(before) && name[same] == before[same] {
			same++
		}
		out = binary.AppendVarint(out, int64(same))
		out = appendText(out, name[same:])
		out = binary.AppendVarint(out, int64(i))
		before = name
	}
	for _, c := range list {
		out = appendText(out, c)
	}
	return out
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

// clock reads a file of the database and encodes it.
func clock(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	loc, err := time.LoadLocationFromTZData(f.Name, text)
	if err != nil {
		return "", err
	}
	// The rule for the years to come is the file's last line.
	text = bytes.TrimSuffix(text, []byte("\n"))
	yearly, err := parseRule(string(text[bytes.LastIndexByte(text, '\n')+1:]))
	if err != nil {
		return "", err
	}
	z, err := follow(loc, yearly)
	if err != nil {
		return "", err
	}
	out, err := encode(z)
	return string(out), err
}

// follow lists the changes of a zone's clocks, as far as the rule doesn't say
// them.
func follow(loc *time.Location, yearly *limit.Yearly) (*limit.Zone, error) {
	offset := func(t int64) int64 {
		_, offset := time.Unix(t, 0).In(loc).Zone()
		return int64(offset)
	}
	z := &limit.Zone{Offsets: []int64{offset(zone.Base)}}
	// Not by ZoneBounds: it takes each year's end for a change. No two changes
	// are as near as this.
	const step = 12 * 3600
	for t := int64(zone.Base); t < until; t += step {
		if offset(t+step) == offset(t) {
			continue
		}
		at := t + 1 + int64(sort.Search(step-1, func(i int) bool { return offset(t+1+int64(i)) != offset(t) }))
		z.Changes = append(z.Changes, at)
		z.Offsets = append(z.Offsets, offset(at))
	}
	if yearly == nil {
		return z, nil
	}
	z.Yearly = yearly
	rule := limit.Zone{Offsets: []int64{0}, Yearly: yearly}
	n := len(z.Changes)
	for n > 0 {
		offset, from, till := rule.At(z.Changes[n-1])
		if from != z.Changes[n-1] || offset != z.Offsets[n] || n < len(z.Changes) && till != z.Changes[n] {
			break
		}
		n--
	}
	if n == len(z.Changes) {
		return nil, errors.New("its rule doesn't hold even in the end")
	}
	// The last change that is kept is the first one that the rule would make, or
	// the rule could hold before it.
	n = min(n+1, len(z.Changes))
	z.Changes, z.Offsets = z.Changes[:n], z.Offsets[:n+1]
	return z, nil
}

// encode is a clock as package zone decodes it. An error says that the form has
// no room for it.
func encode(z *limit.Zone) ([]byte, error) {
	var out []byte
	var err error
	add := func(n, unit int64) {
		if n%unit != 0 {
			err = fmt.Errorf("%d s is no multiple of %d s", n, unit)
		}
		out = binary.AppendVarint(out, n/unit)
	}
	const minute, quarter = 60, 900
	add(int64(len(z.Changes)), 1)
	add(z.Offsets[0], quarter)
	at := int64(zone.Base)
	for i, c := range z.Changes {
		add(c-at, minute)
		add(z.Offsets[i+1], quarter)
		at = c
	}
	if y := z.Yearly; y != nil {
		add(y.Standard, quarter)
		add(y.Saving, quarter)
		for _, r := range []limit.DayRule{y.Forth, y.Back} {
			for _, n := range []int64{r.Month, r.Nth, r.Weekday, r.Seconds} {
				add(n, 1)
			}
		}
	}
	return out, err
}
