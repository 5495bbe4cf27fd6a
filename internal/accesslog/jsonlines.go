package accesslog

import (
	"strings"

	"github.com/tidwall/gjson"
)

// guessed are the fields of JSON lines by their names: Envoy's and Istio's
// json_format as their documents write it, nginx's variables, Caddy, Traefik.
// Names of nested objects are joined by dots.
var guessed = map[string]Field{
	"start_time":                             {Kind: Time, time: anyTime, rank: fine},
	"StartUTC":                               {Kind: Time, time: anyTime, rank: fine},
	"timestamp":                              {Kind: Time, time: anyTime, rank: wholeSeconds},
	"@timestamp":                             {Kind: Time, time: anyTime, rank: wholeSeconds},
	"time":                                   {Kind: Time, time: anyTime, rank: wholeSeconds},
	"ts":                                     {Kind: Time, time: anyTime, rank: wholeSeconds, atEnd: true},
	"time_local":                             {Kind: Time, time: anyTime, rank: wholeSeconds, atEnd: true},
	"time_iso8601":                           {Kind: Time, time: anyTime, rank: wholeSeconds, atEnd: true},
	"msec":                                   {Kind: Time, time: anyTime, rank: fine, atEnd: true},
	"method":                                 {Kind: Method},
	"request_method":                         {Kind: Method},
	"http_method":                            {Kind: Method},
	"request.method":                         {Kind: Method},
	"RequestMethod":                          {Kind: Method},
	"request":                                {Kind: RequestLine},
	"path":                                   {Kind: Path},
	"uri":                                    {Kind: Path},
	"request_uri":                            {Kind: Path},
	"url":                                    {Kind: Path},
	"request.uri":                            {Kind: Path},
	"RequestPath":                            {Kind: Path},
	"args":                                   {Kind: Query},
	"query_string":                           {Kind: Query},
	"authority":                              {Kind: Host},
	"host":                                   {Kind: Host},
	"http_host":                              {Kind: Host},
	"request.host":                           {Kind: Host},
	"RequestHost":                            {Kind: Host},
	"downstream_remote_address":              {Kind: Remote},
	"downstream_remote_address_without_port": {Kind: Remote},
	"remote_addr":                            {Kind: Remote},
	"remote_ip":                              {Kind: Remote},
	"client_ip":                              {Kind: Remote},
	"request.client_ip":                      {Kind: Remote},
	"request.remote_ip":                      {Kind: Remote},
	"ClientHost":                             {Kind: Remote},
	"response_code":                          {Kind: Status},
	"status":                                 {Kind: Status},
	"status_code":                            {Kind: Status},
	"DownstreamStatus":                       {Kind: Status},
	"response_flags":                         {Kind: Flags},
	"response_code_details":                  {Kind: Details},
	"upstream_status":                        {Kind: UpstreamStatus},
	"bytes_sent":                             {Kind: Sent},
	"body_bytes_sent":                        {Kind: Sent},
	"size":                                   {Kind: Sent},
	"DownstreamContentSize":                  {Kind: Sent},
	"bytes_received":                         {Kind: Received},
	"bytes_read":                             {Kind: Received},
	"request_length":                         {Kind: Received},
	"RequestContentSize":                     {Kind: Received},
	"duration":                               {Kind: DurationAny},
	"request_time":                           {Kind: DurationS},
	"Duration":                               {Kind: DurationNS},
	"route_name":                             {Kind: Route},
	"x_forwarded_for":                        {Kind: ReqHeader, Name: "x-forwarded-for"},
	"http_x_forwarded_for":                   {Kind: ReqHeader, Name: "x-forwarded-for"},
	"user_agent":                             {Kind: ReqHeader, Name: "user-agent"},
	"http_user_agent":                        {Kind: ReqHeader, Name: "user-agent"},
	"referer":                                {Kind: ReqHeader, Name: "referer"},
	"http_referer":                           {Kind: ReqHeader, Name: "referer"},
	"request_id":                             {Kind: ReqHeader, Name: "x-request-id"},
	"requested_server_name":                  {Kind: Attr, Name: "connection.requested_server_name"},
}

// Bounds on what one JSON line costs.
const (
	maxNames = 4096 // different names that are remembered
	maxDepth = 4    // objects inside one another
)

// jsonLines reads lines that hold one JSON object each.
type jsonLines struct {
	given map[string]*Field // by the user, by name
	// taken says by kind and name what the user gave: nothing else is guessed there.
	taken map[meaning]bool
	known map[string]*Field // given or guessed, by name; nil for a name that says nothing
	seen  map[*Field]bool
	whole bool
	fine  bool
	path  []byte
	rec   *Record
	err   error
	atEnd bool
}

func newJSON(given map[string]*Field) *jsonLines {
	j := &jsonLines{given: given, taken: map[meaning]bool{}, known: map[string]*Field{}, seen: map[*Field]bool{}}
	for _, f := range given {
		j.taken[identity(f)] = true
	}
	return j
}

// meaning is what two fields that say the same have in common.
type meaning struct {
	kind Kind
	name string
}

func identity(f *Field) meaning {
	k := f.Kind
	switch k {
	case DurationS, DurationNS, DurationAny:
		k = DurationMS
	case PathAlone:
		k = Path
	}
	return meaning{k, f.Name}
}

func (*jsonLines) Name() string { return "JSON lines" }

func (j *jsonLines) WholeSeconds() bool { return j.whole && !j.fine }

func (j *jsonLines) Fields() []Field {
	var out []Field
	for f := range j.seen {
		out = append(out, *f)
	}
	return out
}

// field is the field of a name, or nil.
func (j *jsonLines) field(name []byte) *Field {
	if f, ok := j.known[string(name)]; ok {
		return f
	}
	f := j.given[string(name)]
	if f == nil {
		f = j.guess(string(name))
	}
	if len(j.known) < maxNames {
		j.known[string(name)] = f
	}
	return f
}

func (j *jsonLines) guess(name string) *Field {
	f, ok := guessed[name]
	if !ok {
		// Caddy's headers, and nginx's.
		for _, prefix := range [...]string{"request.headers.", "http_"} {
			if rest, found := strings.CutPrefix(name, prefix); found && rest != "" {
				f, ok = Field{Kind: ReqHeader, Name: strings.ReplaceAll(strings.ToLower(rest), "_", "-")}, true
				break
			}
		}
	}
	if !ok || j.taken[identity(&f)] {
		return nil
	}
	return &f
}

// Parse is Parser.
func (j *jsonLines) Parse(line string, r *Record) (short bool, err error) {
	r.reset()
	if !gjson.Valid(line) {
		return false, errJSON
	}
	v := gjson.Parse(line)
	if !v.IsObject() {
		return false, errJSON
	}
	j.rec, j.err, j.atEnd, j.path = r, nil, false, j.path[:0]
	j.object(v, 1)
	if j.err != nil {
		return false, j.err
	}
	if j.atEnd && r.DurationUS > 0 {
		j.fine = true // the end less the duration is finer than a second
	}
	return false, r.finish(j.atEnd)
}

func (j *jsonLines) object(v gjson.Result, depth int) {
	base := len(j.path)
	v.ForEach(func(k, val gjson.Result) bool {
		j.path = append(j.path[:base], k.Str...)
		if val.IsObject() {
			if depth < maxDepth {
				j.path = append(j.path, '.')
				j.object(val, depth+1)
			}
			return j.err == nil
		}
		f := j.field(j.path)
		if f == nil {
			return true
		}
		text := val.String()
		if val.IsArray() { // a header with its values
			var all []string
			val.ForEach(func(_, item gjson.Result) bool { all = append(all, item.String()); return true })
			text = strings.Join(all, ",")
		} else if val.Type == gjson.Number {
			text = val.Raw
		}
		before := j.rec.timeRank
		switch {
		case f.Kind == RequestLine && val.Type != gjson.String:
			return true
		case val.Type == gjson.Null:
			text = ""
		}
		j.seen[f] = true
		j.err = j.rec.set(f, text)
		if f.Kind == Time && j.rec.timeRank > before {
			j.atEnd = f.atEnd
			if j.rec.At%1_000_000 != 0 {
				j.fine = true
			}
			j.whole = true
		}
		return j.err == nil
	})
	j.path = j.path[:base]
}
