package cookbook

import (
	"strings"
	"unicode"
)

// Topics are the parts of the page, in order.
var Topics = []string{
	"Logins and abuse",
	"Plans, tenants and quotas",
	"What a request costs",
	"Bursts, queues and slots",
	"Which requests, whose counter",
	"Trying a limit out",
	"What the caller sees",
	"Coming from another limiter",
}

// Systems are those that a recipe may be like, in the page's order.
var Systems = []string{
	"nginx", "Kong", "APISIX", "Traefik", "Spring Cloud Gateway", "Envoy rate limit service", "Higress",
}

const intro = `# Cookbook

<!-- Written by ` + "`go generate ./internal/cookbook`" + ` out of ` + Dir + `: change the files there instead. -->

Each recipe is a whole configuration for one wish. They are files in
[` + Dir + `](../` + Dir + `), and tests run every one of them: the compiled
plugin decides the requests of NAME` + testEnd + ` with a real Redis, and each
has to pass or be answered as that file says. Several recipes go together in one
configuration: put their limits into one list.

Headers such as x-user-id, x-account-id or x-plan stand for whatever your
authentication writes. It has to be in front of sluice, and has to overwrite or
remove what callers send under these names; else a caller is whoever it says.

What every field means is in
[reference/configuration.md](reference/configuration.md). Redis is reached by
the cluster ` + "`redis_pipe`" + ` unless ` + "`redis.cluster`" + ` says otherwise.
`

// Render makes the page out of recipes.
func Render(recipes []Recipe) []byte {
	var w strings.Builder
	w.WriteString(intro)
	for _, topic := range Topics {
		w.WriteString("\n**" + topic + "**\n\n")
		for _, r := range of(recipes, topic) {
			w.WriteString("- [" + r.Title + "](#" + anchor(r.Title) + ")\n")
		}
	}
	w.WriteString("\n## How another limiter says it\n\n")
	for _, s := range Systems {
		w.WriteString("**" + s + "**\n\n| there | here |\n|-|-|\n")
		for _, r := range likeliest(recipes) {
			if what := r.Test.Like[s]; what != "" {
				w.WriteString("| " + strings.ReplaceAll(what, "|", "\\|") + " | [" + r.Title + "](#" + anchor(r.Title) + ") |\n")
			}
		}
		w.WriteString("\n")
	}
	for i, topic := range Topics {
		if i > 0 {
			w.WriteString("\n")
		}
		w.WriteString("## " + topic + "\n")
		for _, r := range of(recipes, topic) {
			w.WriteString("\n### " + r.Title + "\n\n")
			for _, p := range r.Why {
				w.WriteString(p + "\n\n")
			}
			w.WriteString("```yaml\n" + strings.Trim(r.Body, "\n") + "\n```\n\n")
			file := "../" + Dir + "/" + r.Name
			w.WriteString("[" + r.Name + configEnd + "](" + file + configEnd + "), [what it does](" + file + testEnd + ")\n")
		}
	}
	return []byte(w.String())
}

// likeliest puts the recipes first that are all about coming from elsewhere.
func likeliest(recipes []Recipe) []Recipe {
	last := Topics[len(Topics)-1]
	first := of(recipes, last)
	for _, r := range recipes {
		if r.Test.Topic != last {
			first = append(first, r)
		}
	}
	return first
}

// of picks the recipes of a topic.
func of(recipes []Recipe, topic string) []Recipe {
	var out []Recipe
	for _, r := range recipes {
		if r.Test.Topic == topic {
			out = append(out, r)
		}
	}
	return out
}

// anchor is the name that a heading can be linked to by: letters and digits in
// lower case, spaces as hyphens.
func anchor(heading string) string {
	var out []rune
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ':
			out = append(out, '-')
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			out = append(out, c)
		}
	}
	return string(out)
}
