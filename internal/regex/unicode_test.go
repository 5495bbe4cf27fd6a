package regex

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write tables.bin for package unicode's version of Unicode")

// setOf is what package unicode's table lists.
func setOf(tables ...*unicode.RangeTable) set {
	var s set
	for _, t := range tables {
		for _, r := range t.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				s = s.add(c, c)
			}
		}
		for _, r := range t.R32 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				s = s.add(c, c)
			}
		}
	}
	return s
}

func appendTable(b []byte, name string, t *unicode.RangeTable) []byte {
	var ranges []byte
	last := uint64(0)
	add := func(lo, hi, step uint64) {
		n := (hi - lo) / step
		ranges = binary.AppendUvarint(ranges, lo-last)
		if step == 1 || n == 0 {
			ranges = binary.AppendUvarint(ranges, n<<1)
		} else {
			ranges = binary.AppendUvarint(ranges, n<<1|1)
			ranges = binary.AppendUvarint(ranges, step)
		}
		last = hi
	}
	for _, r := range t.R16 {
		add(uint64(r.Lo), uint64(r.Hi), uint64(r.Stride))
	}
	for _, r := range t.R32 {
		add(uint64(r.Lo), uint64(r.Hi), uint64(r.Stride))
	}
	name = plainName(name)
	b = append(append(b, byte(len(name))), name...)
	return append(append(b, byte(len(ranges)), byte(len(ranges)>>8)), ranges...)
}

func sorted(m map[string]*unicode.RangeTable) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestTables(t *testing.T) {
	var want []byte
	for _, name := range sorted(unicode.Categories) {
		if len(name) == 2 {
			want = appendTable(want, name, unicode.Categories[name])
		}
	}
	for _, name := range sorted(unicode.Scripts) {
		want = appendTable(want, name, unicode.Scripts[name])
	}
	want = appendTable(want, "Any", &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0, Hi: unicode.MaxRune, Stride: 1}}})
	want = appendTable(want, "ASCII", &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0, Hi: unicode.MaxASCII, Stride: 1}}})
	if *update {
		if err := os.WriteFile("tables.bin", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal([]byte(tables), want) {
		t.Error("tables.bin isn't of the toolchain's version of Unicode; write it with: go test ./internal/regex -run TestTables -update")
	}
}

func TestUnicodeNames(t *testing.T) {
	check := func(name string, want set) {
		t.Helper()
		for _, spelt := range []string{name, strings.ToLower(name), strings.ToUpper(name), strings.ReplaceAll(name, "_", "- "), " " + name} {
			if got := unicodeSet(spelt); !slices.Equal(got, want) {
				t.Errorf("%s has %d ranges, not %d", spelt, len(got)/2, len(want)/2)
			}
		}
	}
	for name, table := range unicode.Categories {
		check(name, setOf(table))
	}
	for name, table := range unicode.Scripts {
		check(name, setOf(table))
	}
	check("Any", set{0, unicode.MaxRune})
	check("Assigned", setOf(unicode.Cn).inverse())
	check("ASCII", set{0, unicode.MaxASCII})
	for name, category := range unicode.CategoryAliases {
		check(name, setOf(unicode.Categories[category]))
	}
	if want := strings.Count(aliases, "\n") - 1; want != len(unicode.CategoryAliases) {
		t.Errorf("%d aliases, package unicode has %d", want, len(unicode.CategoryAliases))
	}
	for _, name := range []string{"", "Y", "X", "Lx", "Lul", "Letter L", "Letter\nC", "\n", "L\n", "é", "_", "Greekk"} {
		if s := unicodeSet(name); s != nil {
			t.Errorf("%q has %d ranges", name, len(s)/2)
		}
	}
}

// What package unicode lists of letters outside a category or script that differ
// from one inside by case only is what fold adds.
func TestFoldOfTables(t *testing.T) {
	for _, tables := range []struct {
		all, fold map[string]*unicode.RangeTable
	}{{unicode.Categories, unicode.FoldCategory}, {unicode.Scripts, unicode.FoldScript}} {
		for name, table := range tables.all {
			want := setOf(table)
			if name == "LC" {
				continue // it is without U+0345 there, which L has
			}
			if extra := tables.fold[name]; extra != nil {
				want = setOf(table, extra)
			}
			if got := setOf(table).fold(); !slices.Equal(got, want) {
				t.Errorf("%s folds to %d ranges, not %d", name, len(got)/2, len(want)/2)
			}
		}
	}
}

func TestFoldOfEachRune(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		f := unicode.SimpleFold(r)
		if f == r && r > 0x500 {
			continue
		}
		want := set(nil).add(r, r)
		for ; f != r; f = unicode.SimpleFold(f) {
			want = want.add(f, f)
		}
		if got := set(nil).add(r, r).fold(); !slices.Equal(got, want) {
			t.Errorf("%U folds to %U, not %U", r, got, want)
		}
	}
}
