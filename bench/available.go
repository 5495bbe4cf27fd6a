package main

import (
	"strings"

	"sluice/internal/config"
)

// lacking says why the configuration refuses a row's policy, when that is because
// of the field that the row needs; "" when the row can be measured.
func (r row) lacking() string {
	if r.needs == "" {
		return ""
	}
	_, errs := config.Parse([]byte(r.configuration()))
	for _, e := range errs {
		if strings.Contains(e.Error(), r.needs) {
			return e.Error()
		}
	}
	return ""
}

// available keeps the rows that can be measured; the others are said loudly, here
// and in the report.
func available(all []table, say func(string, ...any)) []table {
	var kept []table
	for _, t := range all {
		var rows []row
		for _, r := range t.rows {
			if why := r.lacking(); why != "" {
				say("NOT AVAILABLE: row %q: the configuration refuses it: %s", r.name, why)
				t.missing = append(t.missing, missing{r.name, why})
				continue
			}
			rows = append(rows, r)
		}
		t.rows = rows
		kept = append(kept, t)
	}
	return kept
}

// missing is a row that can't be measured.
type missing struct{ row, why string }
