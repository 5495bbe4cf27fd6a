package stack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stats are an Envoy's metrics as a scraper sees them: by name with labels in
// order of their names, as in sluice_mode_total{mode="redis"}. A histogram is
// its _bucket, _sum and _count lines.
type Stats map[string]float64

// Stats reads all metrics.
func (a Admin) Stats(ctx context.Context) (Stats, error) {
	body, err := a.Get(ctx, "/stats/prometheus")
	if err != nil {
		return nil, err
	}
	return parseStats(body)
}

// SettledStats reads all metrics once two readings in a row agree on the plugin's
// own: it tells Envoy of its counts a few milliseconds late.
func (a Admin) SettledStats(ctx context.Context) (Stats, error) {
	const apart = 30 * time.Millisecond
	before, err := a.Stats(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(apart):
		}
		var now Stats
		if now, err = a.Stats(ctx); err == nil && maps.Equal(before.ours(), now.ours()) {
			return now, nil
		}
		before = now
	}
	return nil, err
}

// ours are the plugin's own metrics.
func (s Stats) ours() Stats {
	found := Stats{}
	for series, value := range s {
		if strings.Contains(series, "sluice_") {
			found[series] = value
		}
	}
	return found
}

// StatsLike reads the metrics whose name in Envoy a regular expression finds.
func (a Admin) StatsLike(ctx context.Context, expression string) (Stats, error) {
	body, err := a.Get(ctx, "/stats/prometheus?filter="+url.QueryEscape(expression))
	if err != nil {
		return nil, err
	}
	return parseStats(body)
}

func parseStats(text []byte) (Stats, error) {
	stats := Stats{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("metric line without a value: %q", line)
		}
		value, err := strconv.ParseFloat(line[cut+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metric line %q: %w", line, err)
		}
		name, labels, err := splitLabels(line[:cut])
		if err != nil {
			return nil, err
		}
		stats[Series(name, labels)] += value
	}
	return stats, lines.Err()
}

// splitLabels parses name{a="x",b="y"}. Values with escaped quotes don't occur
// in Envoy's names.
func splitLabels(series string) (string, map[string]string, error) {
	name, rest, has := strings.Cut(series, "{")
	if !has {
		return name, nil, nil
	}
	labels := map[string]string{}
	for rest != "}" {
		key, after, ok := strings.Cut(rest, `="`)
		value, after, ok2 := strings.Cut(after, `"`)
		if !ok || !ok2 {
			return "", nil, fmt.Errorf("malformed labels in %q", series)
		}
		labels[key] = value
		rest = strings.TrimPrefix(after, ",")
	}
	return name, labels, nil
}

// Series is the key under which Stats holds a metric.
func Series(name string, labels map[string]string) string {
	if len(labels) == 0 {
		return name
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+`="`+labels[key]+`"`)
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// Sum adds up all series of a metric whose labels include those given.
func (s Stats) Sum(name string, labels map[string]string) float64 {
	var sum float64
	for series, value := range s {
		n, have, err := splitLabels(series)
		if err != nil || n != name {
			continue
		}
		if includes(have, labels) {
			sum += value
		}
	}
	return sum
}

func includes(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return false
		}
	}
	return true
}
