package override

import (
	"strings"
	"testing"
)

func TestEntriesReadBack(t *testing.T) {
	for _, s := range []Spec{
		{Kind: Rate, Rates: []string{"500/s"}},
		{Kind: Rate, Rates: []string{"500/s", "9000/hour"}, Burst: 600},
		{Kind: Rate, Rates: []string{"0/s"}},
		{Kind: Max, N: 0}, {Kind: Max, N: 20},
		{Kind: Unlimited}, {Kind: Block}, {Kind: Shadow},
		{Kind: Pool, N: 1<<48 - 1},
	} {
		for _, target := range []Target{{Name: "a"}, {Name: "a", Keyed: true, Values: "x|%-"}, {Name: "a", Keyed: true}} {
			e := Entry{Target: target, Spec: s, UntilMS: 1_764_000_000_000}
			got, err := ParseEntry(e.Field(), e.Value())
			if err != nil || got.Field() != e.Field() || got.Value() != e.Value() || got.Target != target {
				t.Errorf("%q %q reads back as %+v, %v", e.Field(), e.Value(), got, err)
			}
		}
	}
}

func TestMalformedEntries(t *testing.T) {
	const ok = "1764000000000 block"
	for _, x := range [][3]string{
		{"", ok, "names no limit"}, {"|x", ok, "names no limit"},
		{"a b", ok, "bytes"}, {"a\x00", ok, "bytes"}, {"a}", ok, "bytes"}, {"a:b", ok, "bytes"}, {"é", ok, "bytes"},
		{strings.Repeat("a", MaxField+1), ok, "2048"},
		{"a", "", "no time"}, {"a", "block", "no time"}, {"a", "-5 block", "no time"}, {"a", "0 block", "no time"},
		{"a", "9007199254740993 block", "no time"}, {"a", strings.Repeat("9", 400) + " block", "no time"},
		{"a", "17640000", "begins with none"}, {"a", "17640000 ", "begins with none"}, {"a", "17640000 blok", "begins with none"},
		{"a", "17640000  block", "begins with none"},
		{"a", "17640000 block now", "more words"}, {"a", "17640000 block ", "more words"},
		{"a", "17640000 rate", "1 to 16"}, {"a", "17640000 rate ", "needs rates"}, {"a", "17640000 rate burst 5", "needs rates"},
		{"a", "17640000 rate 5/s burst", "needs rates"}, {"a", "17640000 rate 5/s burst 0", "a number"},
		{"a", "17640000 rate" + strings.Repeat(" 1/s", 17), "1 to 16"},
		{"a", "17640000 max", "needs a number"}, {"a", "17640000 max -1", "a number"}, {"a", "17640000 max +1", "a number"},
		{"a", "17640000 pool 1e5", "a number"}, {"a", "17640000 pool 281474976710656", "a number"}, {"a", "17640000 pool ", "a number"},
		{"a", "17640000 " + strings.Repeat("x", MaxValue+1), "512"},
	} {
		if e, err := ParseEntry(x[0], x[1]); err == nil || !strings.Contains(err.Error(), x[2]) {
			t.Errorf("%q %q: %+v, %v, want …%s…", x[0], x[1], e, err, x[2])
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add("a|b", "1764000000000 rate 5/s 10/min burst 7")
	f.Add("a", "1 pool 5")
	f.Fuzz(func(t *testing.T, field, value string) {
		e, err := ParseEntry(field, value)
		if err != nil {
			return
		}
		again, err := ParseEntry(e.Field(), e.Value())
		if err != nil || again.Field() != e.Field() || again.Value() != e.Value() || e.Field() != field {
			t.Errorf("%q %q: %+v, %v", field, value, again, err)
		}
	})
}
