package playground

import (
	"strconv"
	"strings"
	"time"

	"sluice/internal/config"
)

// configView is the configuration in force, as the page shows it.
func (s *Server) configView() any {
	now := s.o.Settings.Now()
	return struct {
		Version int           `json:"version"`
		Name    string        `json:"name"`
		Text    string        `json:"text"`
		Origin  string        `json:"origin"`
		From    string        `json:"from"`
		At      int64         `json:"at"` // Unix time, milliseconds
		Notes   []string      `json:"notes"`
		Limits  []LimitLegend `json:"limits"`
	}{now.Version, s.o.Settings.Name, now.Text, s.o.Settings.Origin(), now.From, now.At.UnixMilli(), now.Notes, legends(now.Engine.Policy())}
}

// LimitLegend says in words what a limit is.
type LimitLegend struct {
	Name  string `json:"name"`
	Rate  string `json:"rate"`
	Key   string `json:"key"`   // "" for one counter for all
	Match string `json:"match"` // "" for every request
	// Algorithm and Marks are what else a reader should know.
	Algorithm string   `json:"algorithm"`
	Marks     []string `json:"marks"`
}

func legends(p *config.Policy) []LimitLegend {
	out := []LimitLegend{}
	for _, l := range p.Limits {
		g := LimitLegend{Name: l.Name, Match: l.Match.String(), Algorithm: l.Algorithm.Name, Marks: []string{}}
		if l.Key != nil {
			g.Key = l.Key.String()
		}
		var rates []string
		for i := range l.Rates {
			rates = append(rates, l.Rates[i].Text)
		}
		g.Rate = strings.Join(rates, ", ")
		if l.RateFrom != nil {
			g.Rate = "the request's own, else " + g.Rate
		}
		if l.Shadow {
			g.Marks = append(g.Marks, "shadow")
		}
		if l.Tag != nil {
			g.Marks = append(g.Marks, "tags")
		}
		if n := len(l.Overrides); n > 0 {
			g.Marks = append(g.Marks, strconv.Itoa(n)+" overrides")
		}
		out = append(out, g)
	}
	return out
}

// nowUS is the time in microseconds since the epoch.
func nowUS() int64 { return time.Now().UnixMicro() }
