package accesslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/source"
)

// at is a time as a log's records have it.
func at(t *testing.T, text string) int64 {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return when.UnixMicro()
}

// told is a record as a test compares it.
func told(r *Record) string {
	s := fmt.Sprintf("%s %s host=%s from=%s status=%d sent=%d received=%d took=%d", r.Method, r.Path, r.Host, r.Remote, r.Status, r.Sent, r.Received, r.DurationUS)
	if r.NoAnswer {
		s += " unanswered"
	}
	r.EachNamed(func(k Kind, name, value string) { s += fmt.Sprintf(" %d:%s=%s", k, name, value) })
	return s
}

const when = "2026-03-04T05:06:07Z"

func TestParse(t *testing.T) {
	nginx := `$remote_addr [$time_iso8601] "$request" $status $body_bytes_sent $request_time "$http_x_api_key" "$cookie_session" $host`
	for _, c := range []struct{ name, format, line, at, want string }{
		{"common", "common", `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a?b=c HTTP/1.1" 200 12`, when,
			"GET /a?b=c host= from=192.0.2.1 status=200 sent=12 received=-1 took=-1"},
		{"combined", "combined", `192.0.2.1 - joe [04/Mar/2026:07:06:07 +0200] "GET / HTTP/1.1" 200 - "http://x/" "an agent"`, when,
			fmt.Sprintf("GET / host= from=192.0.2.1 status=200 sent=-1 received=-1 took=-1 %d:referer=http://x/ %d:user-agent=an agent", ReqHeader, ReqHeader)},
		{"a host name", "common", `host-1.example.com - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 0`, when,
			"GET / host= from=host-1.example.com status=200 sent=0 received=-1 took=-1"},
		{"an escaped quote", "combined", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET /\"x\" HTTP/1.1" 200 1 "-" "a \"b\" \x22c\x22"`, when,
			fmt.Sprintf("GET /\"x\" host= from=::1 status=200 sent=1 received=-1 took=-1 %d:user-agent=a \"b\" \"c\"", ReqHeader)},
		{"a quote inside", "combined", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 1 "-" "a "b" c"`, when,
			fmt.Sprintf("GET / host= from=::1 status=200 sent=1 received=-1 took=-1 %d:user-agent=a \"b\" c", ReqHeader)},
		{"a path with blanks", "common", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET /a b HTTP/1.1" 200 1`, when,
			"GET /a b host= from=::1 status=200 sent=1 received=-1 took=-1"},
		{"no protocol", "common", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET /" 200 1`, when,
			"GET / host= from=::1 status=200 sent=1 received=-1 took=-1"},
		{"a client that left", "common", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 499 0`, when,
			"GET / host= from=::1 status=499 sent=0 received=-1 took=-1 unanswered"},
		{"nginx's own", nginx, `192.0.2.1 [2026-03-04T05:06:08+00:00] "POST /x HTTP/2.0" 201 5 1.000 "k1" "s1" example.com`, when,
			fmt.Sprintf("POST /x host=example.com from=192.0.2.1 status=201 sent=5 received=-1 took=1000000 %d:x-api-key=k1 %d:session=s1", ReqHeader, ReqCookie)},
		{"a directive", "log_format main '$msec $request_method '\n  '$uri?$args \"$http_user_agent\"';", `1772600767.250 GET /x?a=1 "ua"`, "2026-03-04T05:06:07.25Z",
			fmt.Sprintf("GET /x?a=1 host= from= status=0 sent=-1 received=-1 took=-1 %d:user-agent=ua", ReqHeader)},
		{"an upstream that wasn't asked", `$msec "$request" $status $upstream_status`, `1772600767.000 "GET / HTTP/1.1" 502 -`, when,
			"GET / host= from= status=502 sent=-1 received=-1 took=-1 unanswered"},
		{"envoy", "envoy", `[2026-03-04T05:06:07.000Z] "POST /v1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21" "locations" "tcp://10.0.2.1:80"`, when,
			fmt.Sprintf("POST /v1 host=locations from= status=204 sent=0 received=154 took=226000 %d:request.protocol=HTTP/2 %d:x-envoy-upstream-service-time=100 %d:x-forwarded-for=10.0.35.28 %d:user-agent=nsq2http %d:x-request-id=cc21", Attr, RespHeader, ReqHeader, ReqHeader, ReqHeader)},
		{"an answer of Envoy's own", "envoy", `[2026-03-04T05:06:07.000Z] "GET / HTTP/1.1" 503 UF,URX 0 91 3 - "-" "-" "r" "h" "-"`, when,
			fmt.Sprintf("GET / host=h from= status=503 sent=91 received=0 took=3000 unanswered %d:request.protocol=HTTP/1.1 %d:x-request-id=r", Attr, ReqHeader)},
		{"envoy's own format", `%START_TIME(%s.%3f)% %REQ(:METHOD)% %REQ(:PATH):40% %DOWNSTREAM_REMOTE_ADDRESS% %ROUTE_NAME% %REQ(X-A?X-B)% %DYNAMIC_METADATA(my.ns:tenant)% %FILTER_STATE(plan:PLAIN)% 100%%\n`,
			`1772600767.000 GET /p 192.0.2.9:4711 r1 bee acme gold 100%`, when,
			fmt.Sprintf("GET /p host= from=192.0.2.9:4711 status=0 sent=-1 received=-1 took=-1 %d:=r1 %d:x-b=bee %d:my.ns.tenant=acme %d:plan=gold", Route, ReqHeader, Metadata, FilterState)},
		{"a layout", `[%START_TIME(%d/%b/%Y:%H:%M:%S.%6f %z)%] %PATH(NQ)% %REQ(:METHOD)%`, `[04/Mar/2026:05:06:07.250000 +0000] /p GET`, "2026-03-04T05:06:07.25Z",
			"GET /p host= from= status=0 sent=-1 received=-1 took=-1"},
		{"json of Istio", "json", `{"start_time":"2026-03-04T05:06:07.000Z","method":"GET","path":"/p?q=1","response_code":200,"response_flags":"-","bytes_sent":7,"bytes_received":0,"duration":12,"x_forwarded_for":"192.0.2.1","authority":"h","downstream_remote_address":"192.0.2.1:5","route_name":"r"}`, when,
			fmt.Sprintf("GET /p?q=1 host=h from=192.0.2.1:5 status=200 sent=7 received=0 took=12000 %d:x-forwarded-for=192.0.2.1 %d:=r", ReqHeader, Route)},
		{"json of Caddy", "json", `{"ts":1772600768.5,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/p","host":"h","headers":{"X-Key":["a","b"]}},"status":200,"size":3,"duration":1.5}`, when,
			fmt.Sprintf("GET /p host=h from=192.0.2.1 status=200 sent=3 received=-1 took=1500000 %d:x-key=a,b", ReqHeader)},
		{"json_format", `{"t":"%START_TIME%","r":{"m":"%REQ(:METHOD)%","p":"%REQ(:PATH)%"},"who":"%REQ(X-USER)%","sub":"%DYNAMIC_METADATA(envoy.filters.http.jwt_authn:p:sub)%"}`, `{"t":"2026-03-04T05:06:07Z","r":{"m":"GET","p":"/"},"who":"u1","sub":"s1"}`, when,
			fmt.Sprintf("GET / host= from= status=0 sent=-1 received=-1 took=-1 %d:x-user=u1 %d:sub=s1", ReqHeader, JWT)},
		{"times in ms", "json", `{"timestamp":1772600767000,"method":"GET","url":"/"}`, when, "GET / host= from= status=0 sent=-1 received=-1 took=-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ParseFormat(c.format, nil)
			if err != nil {
				t.Fatal(err)
			}
			var r Record
			short, err := p.Parse(c.line, &r)
			if err != nil || short {
				t.Fatalf("short %v, error %v", short, err)
			}
			if got := told(&r); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if want := at(t, c.at); r.At != want {
				t.Errorf("time %s, want %s", time.UnixMicro(r.At).UTC(), c.at)
			}
		})
	}
}

func TestFieldsOfJSON(t *testing.T) {
	p, err := ParseFormat("", []string{"time=when", "ip=c.addr", "header:X-User=u", "jwt:sub=sub", "request=line", "duration_s=d"})
	if err != nil {
		t.Fatal(err)
	}
	var r Record
	if _, err := p.Parse(`{"when":"2026-03-04 05:06:07,5","c":{"addr":"192.0.2.7"},"u":"u1","sub":7,"line":"GET /x HTTP/1.1","d":0.25,"x_forwarded_for":null}`, &r); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("GET /x host= from=192.0.2.7 status=0 sent=-1 received=-1 took=250000 %d:x-user=u1 %d:sub=7", ReqHeader, JWT)
	if got := told(&r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, text := range []string{"header:x-user", "ip", "jwt:sub", "path", "path:2", "path_param:id", "query:a", "method", "const:x"} {
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !Feeds(p.Fields(), s) {
			t.Errorf("%s isn't fed", text)
		}
	}
	for _, text := range []string{"header:x-other", "jwt:other", "cookie:a", "route", "host", "metadata:a.b", "filter_state:x", "attr:connection.id"} {
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if Feeds(p.Fields(), s) {
			t.Errorf("%s is fed by nothing", text)
		}
	}
}

func TestRefusedLines(t *testing.T) {
	for _, c := range []struct {
		format, line string
		want         defect
	}{
		{"common", `nothing`, errShape},
		{"common", `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1 200 12`, errQuote},
		{"common", `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "-" 408 0`, errRequest},
		{"common", `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "\x16\x03\x01" 400 0`, errRequest},
		{"common", `192.0.2.1 - - [04/Foo/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 0`, errTime},
		{"common", `192.0.2.1 - - [-] "GET / HTTP/1.1" 200 0`, errTime},
		{"envoy", `[yesterday] "GET / HTTP/1.1" 200 - 0 0 0 - "-" "-" "-" "-" "-"`, errTime},
		{"json", `{"start_time":`, errJSON},
		{"json", `[]`, errJSON},
		{"json", `{"method":"GET"}`, errTime},
		{"json", `{"ts":1}`, errRequest},
		{"json", `{"ts":-1,"method":"GET"}`, errTime},
		{"json", `{"ts":1e300,"method":"GET"}`, errTime},
	} {
		p, err := ParseFormat(c.format, nil)
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		if _, err := p.Parse(c.line, &r); err != c.want {
			t.Errorf("%s: error %v, want %v", c.line, err, c.want)
		}
	}
}

// A line that breaks off behind its request is read as far as it goes.
func TestShortLine(t *testing.T) {
	p, err := ParseFormat("combined", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a HTTP/1.1" 200 12 "-" "an agent`,
		`192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a HTTP/1.1" 200`,
	} {
		var r Record
		short, err := p.Parse(line, &r)
		if !short || err != nil || r.Status != 200 || r.Path != "/a" {
			t.Errorf("%s: short %v, error %v, %s", line, short, err, told(&r))
		}
	}
}

func TestRefusedFormats(t *testing.T) {
	for format, says := range map[string]string{
		"fancy":                                     "unknown format",
		"$remote_addr$status":                       "nothing between them",
		"$remote_addr $status":                      "without a time",
		"$time_local $status":                       "without a request",
		"$ {x}":                                     "without a name",
		"${remote_addr":                             "without its }",
		"%START_TIME% %REQ(:PATH":                   "doesn't end",
		"%START_TIME(%Q)% %REQ(:PATH)%":             "isn't known",
		"%REQ(:PATH)% %RESPONSE_CODE%":              "without a time",
		"log_format main $request":                  "texts in quotes",
		"log_format main '$request":                 "doesn't close",
		`{"a":`:                                     "isn't JSON",
		`{"m":"%REQ(:METHOD)%"}`:                    "without a time",
		"log_format main escape=json '$x_y $zzz';":  "without a time",
		strings.Repeat("x", 100) + " no field here": "unknown format",
	} {
		if _, err := ParseFormat(format, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", format, err, says)
		}
	}
	for fields, says := range map[string]string{"x": "WHAT=FIELD", "size=x": "has no \"size\"", "header:=x": "has no"} {
		if _, err := ParseFormat("json", []string{fields}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", fields, err, says)
		}
	}
	if _, err := ParseFormat("common", []string{"ip=x"}); err == nil {
		t.Error("fields of a text format")
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct{ want, line string }{
		{"combined log format", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 1 "-" "x"`},
		{"common log format", `::1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 1`},
		{"envoy", `[2026-03-04T05:06:07.000Z] "POST /v1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21" "locations" "tcp://10.0.2.1:80"`},
		{"istio", `[2026-03-04T05:06:07.000Z] "GET /v1 HTTP/2" 200 - via_upstream - "-" 0 5 6 5 "-" "curl" "id" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000 default`},
		{"JSON lines", `{"time":"2026-03-04T05:06:07Z","method":"GET"}`},
	} {
		p := Guess([]string{"noise", c.line, c.line})
		if p == nil || p.Name() != c.want {
			t.Errorf("%s: %v, want %s", c.line, p, c.want)
		}
	}
	if p := Guess([]string{"hello", "world"}); p != nil {
		t.Errorf("%s fits nothing", p.Name())
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		read timeReader
		text string
	}{
		{commonTime, "29/Feb/2024:23:59:60 +0000"}, {commonTime, "01/Jan/1970:00:00:00 +0000"}, {commonTime, "31/Dec/2099:00:00:00 +0000"},
		{isoTime, "2024-02-29T12:00:00.123456789+05:30"}, {isoTime, "2024-12-31 23:59:59Z"}, {unixTime, "1700000000.5"}, {anyTime, "1700000000500000000"},
	} {
		got, ok := c.read(c.text)
		if !ok {
			t.Errorf("%s isn't read", c.text)
			continue
		}
		var want time.Time
		var err error
		switch {
		case strings.Contains(c.text, "/"):
			want, err = time.Parse("02/Jan/2006:15:04:05 -0700", strings.Replace(c.text, ":60 ", ":59 ", 1))
			if strings.Contains(c.text, ":60 ") {
				want = want.Add(time.Second)
			}
		case strings.HasPrefix(c.text, "17"):
			want = time.UnixMicro(1_700_000_000_500_000)
		default:
			want, err = time.Parse(time.RFC3339Nano, strings.Replace(c.text, " ", "T", 1))
		}
		if err != nil || got != want.UnixMicro() {
			t.Errorf("%s: %d, want %d (%v)", c.text, got, want.UnixMicro(), err)
		}
	}
	for _, bad := range []string{"", "x", "1969-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00+99:00", "-5", "99999999999999999999999"} {
		if got, ok := anyTime(bad); ok {
			t.Errorf("%q is read as %d", bad, got)
		}
	}
	if diff := cmp.Diff(int64(500_000), int64(fraction("5"))); diff != "" {
		t.Error(diff)
	}
}

// No line makes a parser panic, or gives a time out of range.
func FuzzParse(f *testing.F) {
	var parsers []Parser
	for _, format := range []string{"common", "combined", "envoy", "istio", "json",
		`$msec "$request" "$http_cookie" $upstream_status $request_time`, `%START_TIME(%d/%b/%Y:%H:%M:%S.%6f %z)% %REQ(:METHOD)% %PATH(WQ)%`} {
		p, err := ParseFormat(format, nil)
		if err != nil {
			f.Fatal(err)
		}
		parsers = append(parsers, p)
	}
	f.Add(`192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a?b=c HTTP/1.1" 200 12 "\x" "\"`)
	f.Add(`[2026-03-04T05:06:07.000Z] "POST /v1 HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21" "locations" "tcp://10.0.2.1:80"`)
	f.Add(`{"ts":1772600768.5,"request":{"remote_ip":"192.0.2.1","headers":{"X":["a"]}},"method":"GET","duration":"1s"}`)
	f.Add(`1772600767.250 "GET / HTTP/1.1" "a=b" - 0.1`)
	f.Fuzz(func(t *testing.T, line string) {
		var r Record
		for _, p := range parsers {
			if _, err := p.Parse(line, &r); err != nil {
				continue
			}
			if r.At < 0 || r.At > maxTime {
				t.Errorf("%s: time %d", p.Name(), r.At)
			}
			if r.Method == "" && r.Path == "" {
				t.Errorf("%s: a request without anything", p.Name())
			}
		}
	})
}

// No format makes the compiler panic, nor its parser.
func FuzzFormat(f *testing.F) {
	for _, format := range []string{combinedFormat, istioFormat, "log_format x '$request';", `{"a":"%START_TIME%"}`} {
		f.Add(format, "a b c")
	}
	f.Fuzz(func(_ *testing.T, format, line string) {
		p, err := ParseFormat(format, nil)
		if err != nil {
			return
		}
		var r Record
		_, _ = p.Parse(line, &r)
	})
}
