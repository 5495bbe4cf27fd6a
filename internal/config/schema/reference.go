package schema

import (
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/source"
)

// Reference returns the reference page of the configuration, as Markdown.
func Reference() []byte {
	var w page
	w.line("# Configuration")
	w.line("")
	w.line("<!-- Written by `go run ./internal/config/gen` out of the parser's tables: change those instead. -->")
	w.line("")
	w.line("The plugin reads JSON; people and the tool write YAML. Every field is listed here. An unknown field is an error, as is a value of another type. `sluice check FILE` tells all errors with their lines. Editors can check a file while it is written with [schema.json](schema.json).")
	w.line("")
	w.objects(config.Describe())
	w.types()
	w.sources()
	w.algorithms()
	return []byte(w.b.String())
}

// page is a Markdown page that is being written.
type page struct {
	b    strings.Builder
	done map[string]bool
}

func (w *page) line(s string) { w.b.WriteString(s + "\n") }

// objects writes an object's fields, then the objects within.
func (w *page) objects(o *config.Object) {
	if w.done == nil {
		w.done = map[string]bool{}
	}
	if w.done[o.Name] {
		return
	}
	w.done[o.Name] = true
	w.line("## " + o.Name)
	w.line("")
	w.line(o.Doc)
	w.line("")
	w.line("| field | value | default | meaning |")
	w.line("|-|-|-|-|")
	for _, f := range o.Fields {
		def := "`" + f.Default + "`"
		switch {
		case f.Required:
			def = "required"
		case f.Default == "" || f.Default == "{}":
			def = ""
		}
		w.line("| `" + f.Name + "` | " + cell(typeText(f.Type)) + " | " + cell(def) + " | " + cell(f.Doc) + " |")
	}
	w.line("")
	for _, f := range o.Fields {
		for _, inner := range inside(f.Type) {
			w.objects(inner)
		}
	}
}

// inside lists the objects that a type is made of.
func inside(t *config.Type) []*config.Object {
	var out []*config.Object
	switch t.Kind {
	case config.ObjectType:
		out = append(out, t.Object)
	case config.ListType, config.MapType:
		out = append(out, inside(t.Items)...)
	case config.AnyOfType:
		for _, a := range t.AnyOf {
			out = append(out, inside(a)...)
		}
	}
	return out
}

// typeText names a type in a table's cell.
func typeText(t *config.Type) string {
	if t.Name != "" && t.Kind == config.TextType || t.Kind == config.MapType && t.Name != "" {
		return "[" + t.Name + "](#" + strings.ReplaceAll(t.Name, " ", "-") + ")"
	}
	switch t.Kind {
	case config.IntegerType:
		return "number " + strconv.FormatInt(t.Min, 10) + " to " + strconv.FormatInt(t.Max, 10)
	case config.NumberType:
		return "number"
	case config.BooleanType:
		return "`true`, `false`"
	case config.ObjectType:
		return "[" + t.Object.Name + "](#" + strings.ReplaceAll(t.Object.Name, " ", "-") + ")"
	case config.ListType:
		return "list of " + typeText(t.Items)
	case config.MapType:
		return "object of " + t.Keys + ": text"
	case config.AnyOfType:
		var all []string
		for _, a := range t.AnyOf {
			all = append(all, typeText(a))
		}
		return strings.Join(all, " or ")
	}
	if len(t.Enum) > 0 {
		return "`" + strings.Join(t.Enum, "`, `") + "`"
	}
	return "text"
}

// cell makes a text fit into a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// types writes the syntax of values that have one.
func (w *page) types() {
	w.line("## Values")
	w.line("")
	w.line("Numbers may be written as `1000`, `1e3` or `1000.0`: Istio turns every number into the last. Beyond 2^53 they would lose digits and are refused.")
	w.line("")
	w.line("### duration")
	w.line("")
	w.line("A whole number and a unit: `250ms`, `2s`, `15min`, `1h`, `7d`, `2w`. Also spelled `millisecond(s)`, `sec`, `second(s)`, `m`, `minute(s)`, `hour(s)`, `day(s)`, `week(s)`. At most 366 days.")
	w.line("")
	w.line("### rate")
	w.line("")
	w.line("A number of units, a slash and a window: `100/s`, `60/min`, `1000/hour`, `10000/day`, `5/250ms`, `20/15min`. The window is a duration, whose number may be left out when it is 1. `0/s` rejects everything. At most 2^48 - 1 units. With `algorithm: calendar` the window is an `hour`, `day`, `week`, `month` or `year` of the calendar.")
	w.line("")
	w.line("A list of rates is several windows on one key, all of which hold; each is named by the limit and its window, such as `per-user-1s` and `per-user-1d`, and has a counter of its own.")
	w.line("")
	w.line("### conditions")
	w.line("")
	w.line("An object of [sources](#source), each with a condition; all of them have to hold. A condition is one of these, or a list of them, of which one has to hold:")
	w.line("")
	w.line("| condition | holds when the source's value |")
	w.line("|-|-|")
	w.line("| a text, number, `true` or `false` | is exactly that; numbers are compared as decimals |")
	w.line("| `present` | is there and not empty |")
	w.line("| `absent` | is not there, or empty |")
	w.line("| `~regex` | has a part that fits the [regular expression](https://github.com/google/re2/wiki/Syntax); `^` and `$` tie it to the ends |")
	w.line("")
	w.line("Some sources know more:")
	w.line("")
	w.line("| source | condition | holds for |")
	w.line("|-|-|-|")
	w.line("| `method` | `GET` | the method, in any case |")
	w.line("| `host` | `api.example.com` | that host, in any case, with any port |")
	w.line("| `host` | `*.example.com` | every host below, but not `example.com` itself |")
	w.line("| `path` | `/api/order` | that path |")
	w.line("| `path` | `/api/*` | `/api` and all below |")
	w.line("| `path` | `/users/{id}/orders` | any one segment in place of `{id}`, which `path_param:id` then gives |")
	w.line("| `ip` | `10.0.0.0/8`, `2001:db8::1` | addresses in that range, or that address |")
	w.line("")
	w.line("A path is compared in one spelling, so that no other is a way around a limit: percent-escapes are decoded once, an escaped slash and a backslash are slashes, everything from a `;` to the end of its segment is dropped, doubled slashes are one, `.` and `..` are resolved, and query and fragment are cut off. See [paths](#paths) for case and a trailing slash.")
	w.line("")
	w.line("### address range")
	w.line("")
	w.line("`10.0.0.0/8`, `2001:db8::/32`, or one address.")
	w.line("")
	w.line("### header name")
	w.line("")
	w.line("In any case.")
	w.line("")
	w.others()
}

// others writes the named types that have no section yet.
func (w *page) others() {
	written := map[string]bool{"source": true, "key part": true} // below
	eachType(config.Describe(), map[string]bool{}, func(t *config.Type) {
		if t.Name == "" || t.Kind != config.TextType || written[t.Name] || strings.Contains(w.b.String(), "# "+t.Name+"\n") {
			return
		}
		written[t.Name] = true
		w.line("### " + t.Name)
		w.line("")
		w.line(t.Doc)
		w.line("")
	})
}

// eachType calls f for all types that an object is made of.
func eachType(o *config.Object, done map[string]bool, f func(*config.Type)) {
	if done[o.Name] {
		return
	}
	done[o.Name] = true
	var visit func(t *config.Type)
	visit = func(t *config.Type) {
		f(t)
		if t.Object != nil {
			eachType(t.Object, done, f)
		}
		if t.Items != nil {
			visit(t.Items)
		}
		for _, a := range t.AnyOf {
			visit(a)
		}
	}
	for _, field := range o.Fields {
		visit(field.Type)
	}
}

// sources writes the vocabulary of sources.
func (w *page) sources() {
	w.line("## source")
	w.line("")
	w.line("A part of a request, named the same way wherever one is asked for. An empty value is a missing one. Numbers are decimals, booleans `true` or `false`, a list is its items joined by commas; an object or null is missing.")
	w.line("")
	w.line("| source | example | value |")
	w.line("|-|-|-|")
	for _, k := range source.Kinds() {
		w.line("| `" + strings.Join(k.Forms(), "`, `") + "` | `" + k.Example + "` | " + cell(k.Doc) + " |")
	}
	w.line("")
	w.line("### key part")
	w.line("")
	w.line("A source, or several joined by ` or `: `header:x-api-key or ip`. The first that a request has counts. The same text from two of them makes two counters.")
	w.line("")
}

// algorithms writes what each algorithm promises.
func (w *page) algorithms() {
	w.line("## algorithm")
	w.line("")
	w.line("| algorithm | storage | own fields | |")
	w.line("|-|-|-|-|")
	for _, a := range limit.Algorithms() {
		storage := ""
		if a.Storage != "" {
			storage = "`" + a.Storage + "`"
		}
		options := ""
		if len(a.Options) > 0 {
			options = "`" + strings.Join(a.Options, "`, `") + "`"
		}
		w.line("| `" + a.Name + "` | " + storage + " | " + options + " | " + cell(a.Doc) + " |")
	}
}
