package accesslog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/source"
)

// named are the formats that have a name.
var named = map[string]func() (Parser, error){
	"common":   func() (Parser, error) { return renamed("common", commonFormat, parseNginx) },
	"combined": func() (Parser, error) { return renamed("combined", combinedFormat, parseNginx) },
	"envoy":    func() (Parser, error) { return renamed("envoy", envoyFormat, parseEnvoy) },
	"istio":    func() (Parser, error) { return renamed("istio", istioFormat, parseEnvoy) },
	"json":     func() (Parser, error) { return newJSON(nil), nil },
}

func renamed(name, format string, parse func(string) (*textFormat, error)) (Parser, error) {
	f, err := parse(format)
	if err != nil {
		return nil, err
	}
	f.name = name
	if name == "common" || name == "combined" {
		// Apache notes when a request began, nginx when it ended: without a
		// duration there is no difference.
		f.name += " log format"
	}
	return f, nil
}

// FormatNames lists the formats that have a name.
func FormatNames() []string {
	var out []string
	for name := range named {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

var envoyOperator = regexp.MustCompile(`%[A-Z][A-Z0-9_]*[(:%]`)

// ParseFormat makes a parser of a format's name, nginx's log_format, Envoy's
// format string or json_format. fields, for JSON lines only, say which field has
// what: pairs WHAT=FIELD, where WHAT is time, method, path, host, ip, status,
// bytes_sent, bytes_received, duration_ms, duration_s, response_header:NAME or
// one of the sources of a configuration.
func ParseFormat(format string, fields []string) (Parser, error) {
	if len(fields) > 0 {
		if format != "" && format != "json" {
			return nil, FormatError("fields can be named only for JSON lines")
		}
		given, err := parseFields(fields)
		if err != nil {
			return nil, err
		}
		return newJSON(given), nil
	}
	if make := named[format]; make != nil {
		return make()
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(format), "{"):
		return parseEnvoyJSON(format)
	case envoyOperator.MatchString(format):
		return parseEnvoy(format)
	case strings.Contains(format, "$"):
		return parseNginx(format)
	}
	return nil, FormatError("unknown format " + strconv.Quote(cut(format, 60)) + ": expected " + strings.Join(FormatNames(), ", ") + ", nginx's log_format or Envoy's format string")
}

// parseEnvoyJSON reads Envoy's json_format: an object of names and operators.
func parseEnvoyJSON(format string) (Parser, error) {
	if !gjson.Valid(format) {
		return nil, FormatError("the format begins like Envoy's json_format and isn't JSON")
	}
	given := map[string]*Field{}
	var bad error
	time := false
	var walk func(prefix string, v gjson.Result, depth int)
	walk = func(prefix string, v gjson.Result, depth int) {
		v.ForEach(func(k, val gjson.Result) bool {
			name := prefix + k.Str
			if val.IsObject() {
				if depth < maxDepth {
					walk(name+".", val, depth+1)
				}
				return bad == nil
			}
			op := val.String()
			if len(op) < 3 || op[0] != '%' || operatorEnd(op[1:]) != len(op)-2 {
				return true // fixed text, or several operators in one
			}
			f, err := envoyField(op[1 : len(op)-1])
			if err != nil {
				bad = err
				return false
			}
			if f.Kind != Ignored {
				time = time || f.Kind == Time
				given[name] = &f
			}
			return true
		})
	}
	walk("", gjson.Parse(format), 1)
	if bad != nil {
		return nil, bad
	}
	if !time {
		return nil, FormatError("a format without a time: %START_TIME% of Envoy")
	}
	return newJSON(given), nil
}

// plainFields are the parts of a request, and of its answer, that aren't named
// by a source with an argument.
var plainFields = map[string]Field{
	"time":           {Kind: Time, time: anyTime, rank: fine},
	"end_time":       {Kind: Time, time: anyTime, rank: fine, atEnd: true},
	"request":        {Kind: RequestLine},
	"method":         {Kind: Method},
	"path":           {Kind: Path},
	"query":          {Kind: Query},
	"host":           {Kind: Host},
	"ip":             {Kind: Remote},
	"status":         {Kind: Status},
	"bytes_sent":     {Kind: Sent},
	"bytes_received": {Kind: Received},
	"duration_ms":    {Kind: DurationMS},
	"duration_s":     {Kind: DurationS},
	"route":          {Kind: Route},
}

// namedFields are the prefixes of those that have one.
var namedFields = map[string]Kind{
	"header": ReqHeader, "cookie": ReqCookie, "response_header": RespHeader, "response_trailer": RespTrailer,
	"jwt": JWT, "metadata": Metadata, "filter_state": FilterState, "attr": Attr,
}

func parseFields(pairs []string) (map[string]*Field, error) {
	out := map[string]*Field{}
	for _, p := range pairs {
		what, name, ok := strings.Cut(p, "=")
		what, name = strings.TrimSpace(what), strings.TrimSpace(name)
		if !ok || what == "" || name == "" {
			return nil, FormatError(strconv.Quote(p) + " is not WHAT=FIELD, such as header:x-user-id=user")
		}
		f, err := NamedField(what)
		if err != nil {
			return nil, err
		}
		if out[name] != nil {
			return nil, FormatError("the field " + strconv.Quote(name) + " is named twice")
		}
		out[name] = &f
	}
	return out, nil
}

// NamedField returns the field that says a part of a request or its answer:
// method, header:NAME, jwt:CLAIM and so on.
func NamedField(what string) (Field, error) {
	if f, ok := plainFields[what]; ok {
		return f, nil
	}
	if prefix, arg, ok := strings.Cut(what, ":"); ok && arg != "" {
		if k, known := namedFields[prefix]; known {
			if k == ReqHeader || k == RespHeader || k == RespTrailer {
				arg = strings.ToLower(arg)
			}
			return Field{Kind: k, Name: arg}, nil
		}
	}
	var names []string
	for n := range plainFields {
		names = append(names, n)
	}
	for n := range namedFields {
		names = append(names, n+":NAME")
	}
	slices.Sort(names)
	return Field{}, FormatError("a request has no " + strconv.Quote(what) + ": expected one of " + strings.Join(names, ", "))
}

// Guess finds the format of a log by its first lines; nil when none fits. It
// takes the format that reads the most of them.
func Guess(lines []string) Parser {
	var best Parser
	most := 0
	for _, name := range [...]string{"json", "istio", "envoy", "combined", "common"} {
		p, err := named[name]()
		if err != nil {
			continue
		}
		n := 0
		var r Record
		for _, line := range lines {
			if short, err := p.Parse(line, &r); err == nil && !short {
				n++
			}
		}
		if n > most {
			best, most = p, n
		}
	}
	if best != nil && best.Name() == "JSON lines" {
		best = newJSON(nil)
	}
	return best
}

// Feeds reports whether lines with these fields can give a source of a
// configuration a value.
func Feeds(fields []Field, s source.Source) bool {
	text := s.String()
	name, arg, _ := strings.Cut(text, ":")
	has := func(f func(Field) bool) bool { return slices.ContainsFunc(fields, f) }
	kind := func(kinds ...Kind) bool {
		return has(func(f Field) bool { return slices.Contains(kinds, f.Kind) })
	}
	switch {
	case name == "ip" || strings.HasPrefix(name, "ip/"):
		return kind(Remote) || has(func(f Field) bool { return f.Kind == ReqHeader && f.Name == "x-forwarded-for" })
	case name == "path" || name == "path_param":
		return kind(RequestLine, Path, PathAlone)
	case name == "query":
		return kind(RequestLine, Path, Query)
	case name == "method":
		return kind(RequestLine, Method)
	case name == "host":
		return kind(Host)
	case name == "route":
		return kind(Route)
	case name == "const":
		return true
	case name == "cookie":
		return has(func(f Field) bool {
			return f.Kind == ReqCookie && f.Name == arg || f.Kind == ReqHeader && f.Name == "cookie"
		})
	}
	k, ok := namedFields[name]
	return ok && has(func(f Field) bool { return f.Kind == k && f.Name == arg })
}

// FeedsHeader reports whether lines with these fields have a request header.
func FeedsHeader(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Kind == ReqHeader && f.Name == name })
}
