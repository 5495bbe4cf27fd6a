package doctor

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/stack"
)

// stats are a gateway's metrics, of which the plugin's are found by name,
// whatever stands in front of it and behind.
type stats stack.Stats

// named calls f for each series of a metric, in the order of their labels.
func (s stats) named(name string, f func(labels string, value float64)) {
	var all []string
	for series := range s {
		metric, _, _ := strings.Cut(series, "{")
		if strings.HasSuffix(metric, name) {
			all = append(all, series)
		}
	}
	slices.Sort(all)
	for _, series := range all {
		_, labels, _ := strings.Cut(series, "{")
		f(strings.TrimSuffix(labels, "}"), s[series])
	}
}

// find is the sum of a metric's series; false where there is none.
func (s stats) find(name string) (sum float64, ok bool) {
	s.named(name, func(_ string, v float64) { sum, ok = sum+v, true })
	return sum, ok
}

// sum is the sum of the series that have a label's value.
func (s stats) sum(name, label string) (sum float64) {
	s.named(name, func(labels string, v float64) {
		if strings.Contains(labels, `"`+label+`"`) {
			sum += v
		}
	})
	return sum
}

// each lists the series of a metric that aren't 0, as label value: number.
func (s stats) each(name string) (out []string) {
	s.named(name, func(labels string, v float64) {
		if v == 0 {
			return
		}
		kind := labels
		if _, rest, ok := strings.Cut(labels, `kind="`); ok {
			kind, _, _ = strings.Cut(rest, `"`)
		}
		out = append(out, fmt.Sprintf("%s %.0f", kind, v))
	})
	return out
}
