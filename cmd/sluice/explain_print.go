package main

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/explain"
)

func printExplanation(p *printer, x *explain.Explanation) {
	client := "client address unknown"
	if x.Client != "" {
		client = "from " + x.Client
	}
	p.line("%s %s%s, %s", p.style(bold, safe(x.Method)), safe(x.Host), safe(x.Path), client)
	if len(x.Limits) == 0 {
		p.line("The configuration has no limits.")
		return
	}
	nowMS := time.Now().UnixMilli()
	if x.Live != nil {
		nowMS = x.Live.AtUS / 1000
	}
	for i := range x.Limits {
		printLimit(p, &x.Limits[i], nowMS)
	}
	switch {
	case x.RefusedBy != "":
		p.line("\n%s: %s refuses the request (400, code MISSING_KEY); Redis isn't asked", p.style(red, "refused"), x.RefusedBy)
	case x.BlockedBy != "":
		p.line("\n%s: an override of %s blocks the request; Redis isn't asked", p.style(red, "rejected"), x.BlockedBy)
	case len(x.Calls) == 0 && x.OnlyGateway():
		p.line("\nEach gateway decides by itself; Redis isn't asked")
	case len(x.Calls) == 0:
		p.line("\n%s: no limit has a word; Redis isn't asked", p.style(green, "admitted"))
	default:
		printCalls(p, x.Calls)
	}
	if x.Live != nil {
		printLive(p, x.Live)
	}
}

func printLimit(p *printer, l *explain.Limit, nowMS int64) {
	name := l.Name
	switch {
	case !l.Applies:
		p.line("  %s %s: not for this request: %s", p.style(faint, "-"), name, safe(l.Why))
		return
	case l.Why != "":
		p.line("  %s %s: %s", p.style(yellow, "~"), name, safe(l.Why))
		if l.RunTime != nil {
			p.line("      %s", runTime(l.RunTime, nowMS))
		}
		return
	}
	p.line("  %s %s: applies", p.style(green, "+"), name)
	if l.RunTime != nil {
		p.line("      %s", runTime(l.RunTime, nowMS))
	}
	for _, c := range l.Counters {
		rate := c.Rate
		if l.Override >= 0 && c.Rate != "penalty" {
			rate += fmt.Sprintf(" (override %d)", l.Override)
		}
		cost := fmt.Sprintf("cost %d", c.Cost)
		if c.Cost == 0 {
			cost = "cost 0: looks for room, charges nothing"
		}
		p.line("      %s, %s, %s, %s", rate, c.Algorithm, c.Op, cost)
		if c.Gateway {
			p.line("      counted in each gateway under %s, not in Redis", safe(c.Key))
			continue
		}
		p.line("      key %s", safe(c.Key))
	}
	for _, n := range l.Notes {
		p.line("      %s", n)
	}
}

func printCalls(p *printer, calls []*explain.Call) {
	if len(calls) == 1 {
		p.line("\nOne call to Redis:")
	} else {
		p.line("\n%d calls to Redis at once, one for each hash slot of the cluster:", len(calls))
	}
	for _, c := range calls {
		printCall(p, c)
	}
}

func printCall(p *printer, c *explain.Call) {
	if c.Slot != nil {
		p.line("  hash slot %d", *c.Slot)
	}
	p.line("  EVALSHA %s %d", c.SHA, len(c.Keys))
	for i, k := range c.Keys {
		p.line("  KEYS[%d] %s", i+1, safe(k))
	}
	n := 1
	row := func(args []explain.Argument) {
		var words []string
		first := n
		for _, a := range args {
			value := a.Value
			if value == "" {
				value = "''"
			}
			words = append(words, a.Name+"="+safe(value))
			n++
		}
		p.line("  ARGV[%d…%d] %s", first, n-1, strings.Join(words, " "))
	}
	row(c.Common)
	for _, args := range c.Counters {
		row(args)
	}
}

func printLive(p *printer, l *explain.Live) {
	at := time.UnixMicro(l.AtUS).UTC().Format("2006-01-02 15:04:05.000 UTC")
	if len(l.Counters) > 0 {
		printCounters(p, l, at)
	}
	switch {
	case l.Outcome == "rejected" && !l.WaitingHelps:
		p.line("  %s by %s; waiting doesn't help: the request costs more than the limit has", p.style(red, "rejected"), l.Limit)
	case l.Outcome == "rejected":
		p.line("  %s by %s; Retry-After: %d", p.style(red, "rejected"), l.Limit, l.RetryAfter)
	case l.DelayMS > 0:
		p.line("  %s after a wait of %s", p.style(green, l.Outcome), wait(l.DelayMS))
	default:
		p.line("  %s", p.style(green, l.Outcome))
	}
}

func printCounters(p *printer, l *explain.Live, at string) {
	p.line("\nIn Redis at %s (nothing was charged to find out):", at)
	rows := [][]string{{"COUNTER", "USED", "LEFT", "MORE IN", "THIS REQUEST"}}
	for _, c := range l.Counters {
		word := "admits"
		if c.Rejects {
			word = "rejects"
		}
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Current), fmt.Sprint(c.Remaining), wait(c.ResetMS), word})
	}
	p.table("  ", rows)
}

// wait is a time in ms as people say it.
func wait(ms int64) string {
	if ms == 0 {
		return "-"
	}
	d := time.Duration(ms) * time.Millisecond
	if d >= time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}
