// Package accesslog reads access logs: common and combined, nginx's and Envoy's
// own format strings, and JSON lines. Lines come out in the order of their
// time, whatever order they are in, with bounded memory; what can't be read is
// counted, with a reason and the first example.
package accesslog

// Record is one request of a log. Its texts point into the line.
type Record struct {
	At     int64 // when the request began: microseconds since the epoch
	Method string
	Path   string // with the query, as sent
	Host   string
	Remote string // the peer's address, perhaps with a port; or a host name
	Status int    // 0 for none
	// Sent and Received are the bytes of the answer's and the request's body,
	// DurationUS how long the request took; -1 where the line doesn't say.
	Sent, Received, DurationUS int64
	// NoAnswer says that the upstream gave no answer: the proxy answered itself,
	// or the client left.
	NoAnswer bool

	named    []namedValue
	timeRank uint8
	query    string
	answered bool // the line names the upstream's answer, so that nothing else counts
}

type namedValue struct {
	field *Field
	value string
}

// Named returns the value of a field that has a name, such as a request header.
func (r *Record) Named(k Kind, name string) (string, bool) {
	for i := range r.named {
		if f := r.named[i].field; f.Kind == k && f.Name == name {
			return r.named[i].value, true
		}
	}
	return "", false
}

// EachNamed calls f for every value that has a name, in the line's order.
func (r *Record) EachNamed(f func(k Kind, name, value string)) {
	for i := range r.named {
		f(r.named[i].field.Kind, r.named[i].field.Name, r.named[i].value)
	}
}

func (r *Record) reset() {
	*r = Record{Sent: -1, Received: -1, DurationUS: -1, named: r.named[:0]}
}

// Kind is what a field of a log says.
type Kind uint8

// Kinds of fields. Those from ReqHeader on have a name.
const (
	Ignored Kind = iota
	Time
	RequestLine // method, path and protocol
	Method
	Path      // with the query
	PathAlone // without the query
	Query     // without its question mark
	Host
	Remote
	Status
	Sent
	Received
	DurationMS
	DurationS
	DurationNS
	DurationAny // seconds where it has a fraction, else milliseconds
	Flags       // Envoy's response flags
	Details     // Envoy's response code details
	UpstreamStatus
	Route
	ReqHeader
	ReqCookie
	RespHeader
	RespTrailer
	Metadata    // namespace and key, joined by a dot
	FilterState // its name
	JWT         // a claim's name
	Attr        // an attribute's dotted name
)

// Field is one field of a format.
type Field struct {
	Kind Kind
	Name string
	time timeReader
	// rank says which of several times counts: the finest.
	rank uint8
	// atEnd is a time that was taken when the request ended.
	atEnd bool
}

// Ranks of times.
const (
	wholeSeconds uint8 = 2
	fine         uint8 = 3
)

// defect is why a line can't be read, or was read only in part.
type defect string

func (d defect) Error() string { return string(d) }

// Reasons for which a line isn't read.
const (
	errShape   defect = "doesn't fit the format"
	errTime    defect = "no time that can be read"
	errRequest defect = "no request in it"
	errQuote   defect = "a quote doesn't close"
	errJSON    defect = "not a JSON object"
	errTooLong defect = "longer than 1 MiB"
	errNotText defect = "not text"
)

// Clone returns a record that stays valid.
func (r *Record) Clone() Record {
	out := *r
	out.named = append([]namedValue(nil), r.named...)
	return out
}
