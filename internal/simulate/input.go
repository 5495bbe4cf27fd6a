package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/accesslog"
	"sluice/internal/config"
)

// Input is where requests come from. It can be gone through more than once.
type Input interface {
	// Each calls f with every request in the order of time. The event is valid
	// until f returns.
	Each(f func(e *Event) error) error
	// Span is the time of the first and the last request, microseconds since the
	// epoch, and how many there are, about.
	Span() (from, to int64, count int64)
	// Fields are what requests can say.
	Fields() []accesslog.Field
	// Notes tells what a reader of the report has to know of the input.
	Notes() []string

	hostNames() *hostNames
}

// Event is one request.
type Event struct {
	At      int64 // microseconds since the epoch
	request *request
	end     ending
}

// ending is how a request ended; see engine.Ending.
type ending struct {
	at       int64 // microseconds since the epoch
	status   int
	noAnswer bool
	sent     int64
	received int64
	record   *accesslog.Record // valid while the event is
	costs    []statedCost
}

type statedCost struct {
	from *config.SettleCost
	text string
}

// Status is engine.Ending.
func (e *ending) Status() (int, bool) { return e.status, !e.noAnswer }

// BodyBytes is engine.Ending.
func (e *ending) BodyBytes() int64 { return max(e.received, 0) }

// Cost is engine.Ending.
func (e *ending) Cost(from *config.SettleCost) (int64, bool) {
	if from.From == config.SettleBytes {
		return e.sent, e.sent >= 0
	}
	for _, c := range e.costs {
		if c.from == from {
			return config.ParseUnits(c.text)
		}
	}
	return 0, false
}

// LoadOptions say what a load's requests are like. In its texts {key} stands for
// the caller's number.
type LoadOptions struct {
	Shapes  []Shape // that come together, at least one
	For     time.Duration
	Method  string
	Path    string
	Host    string
	IP      string            // "" for an address of 10.0.0.0/8 for each caller
	Headers []string          // NAME: VALUE
	With    map[string]string // values of other sources: jwt:sub, route
	Keys    int               // callers
	Spread  Spread
	Seed    uint64
	Took    time.Duration // how long a request takes
	Status  int           // of every answer
	Bytes   int64         // of every answer
}

// loadStart is when every load begins: a round time, so that windows begin with
// it. 2026-01-01 00:00 UTC.
const loadStart = 1_767_225_600_000_000

// load is an Input of made-up requests.
type load struct {
	o      LoadOptions
	fields []accesslog.Field
	named  []namedValue
}

type namedValue struct {
	kind        accesslog.Kind
	name, value string
	varies      bool
}

const placeholder = "{key}"

// NewLoad makes a load.
func NewLoad(o LoadOptions) (Input, error) {
	l := &load{o: o}
	switch {
	case len(o.Shapes) == 0:
		return nil, UsageError("a load needs a shape")
	case o.For < time.Microsecond || o.For > 10*365*24*time.Hour:
		return nil, UsageError("a load lasts from 1us to ten years")
	case o.Keys < 1 || o.Keys > 1<<24:
		return nil, UsageError("there are from 1 to 16777216 callers")
	case o.Took < 0 || o.Took > 24*time.Hour:
		return nil, UsageError("a request takes from 0 to 24h")
	case !strings.HasPrefix(o.Path, "/"):
		return nil, UsageError("a path begins with /, not " + strconv.Quote(o.Path))
	case o.Method == "" || strings.ContainsAny(o.Method, " \t"):
		return nil, UsageError(strconv.Quote(o.Method) + " is not a method")
	case o.Status < 100 || o.Status > 599:
		return nil, UsageError("a status is from 100 to 599")
	case o.Bytes < 0:
		return nil, UsageError("an answer has 0 bytes or more")
	}
	total := 0.0
	for _, s := range o.Shapes {
		total += s.Count(o.For)
	}
	if total > maxRequests {
		return nil, UsageError(fmt.Sprintf("that is a load of %.0f requests, and %d are the most", total, maxRequests))
	}
	kinds := []accesslog.Kind{
		accesslog.Method, accesslog.Path, accesslog.Host, accesslog.Remote, accesslog.Status, accesslog.Sent, accesslog.Received, accesslog.DurationMS,
	}
	for _, k := range kinds {
		l.fields = append(l.fields, accesslog.Field{Kind: k})
	}
	add := func(f accesslog.Field, value string) {
		l.fields = append(l.fields, f)
		l.named = append(l.named, namedValue{f.Kind, f.Name, value, strings.Contains(value, placeholder)})
	}
	for _, h := range o.Headers {
		name, value, ok := strings.Cut(h, ":")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, UsageError(strconv.Quote(h) + " is not a header: expected NAME: VALUE")
		}
		add(accesslog.Field{Kind: accesslog.ReqHeader, Name: name}, strings.TrimSpace(value))
	}
	for _, what := range sortedKeys(o.With) {
		f, err := accesslog.NamedField(what)
		if err != nil {
			return nil, UsageError(err.Error())
		}
		if f.Kind < accesslog.Route || f.Kind == accesslog.RespHeader || f.Kind == accesslog.RespTrailer {
			return nil, UsageError("a load's " + what + " isn't given so: expected route, cookie:NAME, jwt:CLAIM, metadata:NS.KEY, filter_state:NAME or attr:NAME")
		}
		add(f, o.With[what])
	}
	return l, nil
}

func (l *load) Span() (from, to, count int64) {
	total := 0.0
	for _, s := range l.o.Shapes {
		total += s.Count(l.o.For)
	}
	return loadStart, loadStart + l.o.For.Microseconds() - 1, int64(total)
}

func (l *load) Fields() []accesslog.Field { return l.fields }

func (l *load) Notes() []string { return nil }

func (l *load) hostNames() *hostNames { return nil }

// Each is Input.
func (l *load) Each(f func(e *Event) error) error {
	caller := l.o.Spread.callers(l.o.Keys, l.o.Seed)
	next := make([]func() (int64, bool), len(l.o.Shapes))
	heads := make([]int64, len(l.o.Shapes))
	for i, s := range l.o.Shapes {
		next[i] = s.times(l.o.For, l.o.Seed+uint64(i)*1000)
		heads[i] = -1
		if at, ok := next[i](); ok {
			heads[i] = at
		}
	}
	var r request
	e := Event{request: &r}
	for {
		first := -1
		for i, at := range heads {
			if at >= 0 && (first < 0 || at < heads[first]) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		e.At = loadStart + heads[first]
		heads[first] = -1
		if at, ok := next[first](); ok {
			heads[first] = at
		}
		l.fill(&r, caller())
		e.end = ending{at: e.At + l.o.Took.Microseconds(), status: l.o.Status, sent: l.o.Bytes}
		if err := f(&e); err != nil {
			return err
		}
	}
}

// fill makes r the request of a caller.
func (l *load) fill(r *request, caller int) {
	r.reset()
	number := ""
	of := func(text string) string {
		if !strings.Contains(text, placeholder) {
			return text
		}
		if number == "" {
			number = strconv.Itoa(caller)
		}
		return strings.ReplaceAll(text, placeholder, number)
	}
	r.method, r.path, r.host = l.o.Method, of(l.o.Path), of(l.o.Host)
	for _, n := range l.named {
		value := n.value
		if n.varies {
			value = of(value)
		}
		r.name(n.kind, n.name, value)
	}
	if l.o.IP != "" {
		r.from(of(l.o.IP))
		return
	}
	r.remote = append(r.remote, "10."...)
	for shift := 16; shift >= 0; shift -= 8 {
		r.remote = strconv.AppendInt(r.remote, int64(caller>>shift&255), 10)
		r.remote = append(r.remote, '.')
	}
	r.remote = append(r.remote[:len(r.remote)-1], ":1"...)
}

// logInput is an Input of a log's lines.
type logInput struct {
	log    *accesslog.Log
	spread bool // lines of one second are spread over it
	names  hostNames
	// options counts the requests that may be CORS preflights.
	options int64
}

// NewLog makes an Input of a log. Where its times are whole seconds, spread
// divides the lines of a second evenly over it.
func NewLog(l *accesslog.Log, spread bool) Input {
	return &logInput{log: l, spread: spread && l.Parser.WholeSeconds()}
}

func (l *logInput) Span() (from, to, count int64) {
	to = l.log.To
	if l.spread {
		to += 999_999
	}
	return l.log.From, to, l.log.Read
}

func (l *logInput) Fields() []accesslog.Field { return l.log.Parser.Fields() }

func (l *logInput) hostNames() *hostNames { return &l.names }

// Notes is Input.
func (l *logInput) Notes() []string {
	var out []string
	switch {
	case l.spread:
		out = append(out, "the log's times are whole seconds: requests of one second are spread evenly over it, so what is said of windows of a few seconds and less is rough")
	case l.log.Parser.WholeSeconds():
		out = append(out, "the log's times are whole seconds: requests of one second count as coming at once")
	}
	if n := l.names.lines; n > 0 {
		out = append(out, fmt.Sprintf("%d requests have a host name where an address belongs: each name counts as a caller of its own", n))
	}
	if n := l.names.bad; n > 0 {
		out = append(out, fmt.Sprintf("%d requests have neither an address nor a host name where an address belongs: their ip is missing", n))
	}
	if l.options > 0 {
		out = append(out, fmt.Sprintf("%d OPTIONS requests are counted; CORS preflights among them will not be, unless preflight is limit", l.options))
	}
	return out
}

// maxSecond bounds how many lines of one second are spread.
const maxSecond = 1 << 18

// Each is Input.
func (l *logInput) Each(f func(e *Event) error) error {
	l.names.lines, l.names.bad, l.options = 0, 0, 0
	r := request{names: &l.names}
	e := Event{request: &r}
	one := func(rec *accesslog.Record) error {
		e.At = rec.At
		r.fromRecord(rec)
		if rec.Method == http.MethodOptions {
			l.options++
		}
		e.end = ending{
			at: rec.At + max(rec.DurationUS, 0), status: rec.Status, noAnswer: rec.NoAnswer,
			sent: rec.Sent, received: rec.Received, record: rec,
		}
		return f(&e)
	}
	if !l.spread {
		return l.log.Each(one)
	}
	var held []accesslog.Record
	flush := func() error {
		for i := range held {
			rec := &held[i]
			rec.At += int64(i) * 1_000_000 / int64(len(held))
			if err := one(rec); err != nil {
				return err
			}
		}
		held = held[:0]
		return nil
	}
	err := l.log.Each(func(rec *accesslog.Record) error {
		if len(held) > 0 && held[0].At != rec.At || len(held) == maxSecond {
			if err := flush(); err != nil {
				return err
			}
		}
		held = append(held, rec.Clone())
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// stated notes the costs that a request's answer states.
func (e *ending) stated(costs []*config.SettleCost) {
	if e.record == nil {
		return
	}
	for _, c := range costs {
		kind := accesslog.RespHeader
		name := c.Name
		switch c.From {
		case config.SettleTrailer:
			kind = accesslog.RespTrailer
		case config.SettleMetadata:
			kind, name = accesslog.Metadata, strings.TrimPrefix(c.Source.String(), "metadata:")
		case config.SettleHeader:
		default:
			continue
		}
		if v, ok := e.record.Named(kind, name); ok && !slices.ContainsFunc(e.costs, func(s statedCost) bool { return s.from == c }) {
			e.costs = append(e.costs, statedCost{c, v})
		}
	}
}
