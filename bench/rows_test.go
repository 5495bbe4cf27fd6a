package main

import (
	"regexp"
	"slices"
	"testing"

	"sluice/internal/config"
)

// Every row has a name of its own and a policy that the plugin takes, and every
// table has the rows that it compares with.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range tables {
		own := map[string]bool{}
		for _, r := range table.rows {
			if r.name == "" || seen[r.name] {
				t.Errorf("row %q: its name is empty or taken", r.name)
			}
			seen[r.name], own[r.name] = true, true
			if r.keys < 1 || r.status == 0 {
				t.Errorf("row %q lacks keys or a status", r.name)
			}
			if r.policy == "" {
				continue
			}
			if _, err := config.Parse([]byte(r.configuration())); err != nil && r.lacking() == "" {
				t.Errorf("row %q: %v", r.name, err)
			}
		}
		if !own[table.base] || !own[table.peer] {
			t.Errorf("table %q lacks its base or its peer", table.title)
		}
	}
}

func TestChoose(t *testing.T) {
	chosen := choose(tables, regexp.MustCompile("^no filter$|^local.*rejecting$|^sluice, rejecting$"))
	if len(chosen) != 2 || len(chosen[0].rows) != 1 || len(chosen[1].rows) != 2 {
		t.Errorf("chose %d tables: %+v", len(chosen), chosen)
	}
	if len(choose(tables, regexp.MustCompile("no such row"))) != 0 {
		t.Error("chose what doesn't match")
	}
}

func TestBeside(t *testing.T) {
	got := beside([]table{{rows: []row{{name: "no filter"}, {name: "sluice", policy: byUser}}}}, []string{"/tmp/old.wasm", "b"})
	var names []string
	for _, r := range allRows(got) {
		names = append(names, r.name+" "+r.plugin)
	}
	if want := []string{"no filter ", "sluice ", "sluice (old) /tmp/old.wasm", "sluice (b) b"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}
