package check_test

import (
	"testing"

	"sluice/internal/check"
	"sluice/internal/configfile"
)

func report(t *testing.T, text string) *check.Report {
	t.Helper()
	found, err := configfile.Find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &check.Report{}
	for i := range found {
		r.Add("file.yaml", &found[i])
	}
	return r
}

func TestCosts(t *testing.T) {
	for text, want := range map[string][2]int{ // calls, counters
		"limits: []":                     {0, 0},
		"limits: [{name: a, rate: 5/s}]": {1, 1},
		"limits: [{name: a, rate: [5/s, 9/min]}, {name: b, rate: 5/s, penalty: 1s}]":                                {1, 4},
		"limits: [{name: a, group: g, rate: 5/s}, {name: b, group: g, rate: [5/s, 9/min]}, {name: c, rate: 1/s}]":   {1, 3},
		"limits: [{name: a, key: ip, rate: 5/s, overrides: [{when: {ip: 10.0.0.1}, rate: [5/s, 9/min, 20/hour]}]}]": {1, 3},
	} {
		c := report(t, text).Configs[0]
		if got := [2]int{c.CallsPerRequest, c.CountersPerRequest}; got != want {
			t.Errorf("%s: %v, want %v (%+v)", text, got, want, c.Errors)
		}
	}
}

func TestErrorsAndWarningsAreCounted(t *testing.T) {
	r := report(t, "limits: [{name: a, rate: 0/s}, {name: b, key: ip, rate: [1/s]}, {name: c, match: {path: /c}, key: ip, rate: 2/s, cost: 3}]")
	if r.Errors != 0 || r.Warnings != 3 || r.Configs[0].Warnings[1].Line != 1 || r.Configs[0].Warnings[1].Column != 57 {
		t.Errorf("%+v", r)
	}
	r = report(t, "limits: [{name: a, rate: 5}, {nam: b, rate: 0/s}]")
	if r.Errors != 3 || r.Configs[0].Policy != nil || r.Configs[0].Errors[1].Text() == "" {
		t.Errorf("%+v", r)
	}
}
