package accesslog

import (
	"strconv"
	"strings"
)

// Formats that servers write without being told a format.
const (
	commonFormat   = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent`
	combinedFormat = commonFormat + ` "$http_referer" "$http_user_agent"`
)

// nginxFields are nginx's variables that matter here; those of headers and
// cookies are found by their beginning.
var nginxFields = map[string]Field{
	"remote_addr":             {Kind: Remote},
	"binary_remote_addr":      {Kind: Ignored},
	"realip_remote_addr":      {Kind: Ignored},
	"proxy_protocol_addr":     {Kind: Ignored},
	"time_local":              {Kind: Time, time: commonTime, rank: wholeSeconds, atEnd: true},
	"time_iso8601":            {Kind: Time, time: isoTime, rank: wholeSeconds, atEnd: true},
	"msec":                    {Kind: Time, time: unixTime, rank: fine, atEnd: true},
	"request":                 {Kind: RequestLine},
	"request_method":          {Kind: Method},
	"request_uri":             {Kind: Path},
	"uri":                     {Kind: PathAlone},
	"document_uri":            {Kind: PathAlone},
	"args":                    {Kind: Query},
	"query_string":            {Kind: Query},
	"host":                    {Kind: Host},
	"status":                  {Kind: Status},
	"body_bytes_sent":         {Kind: Sent},
	"bytes_sent":              {Kind: Sent},
	"request_length":          {Kind: Received},
	"request_time":            {Kind: DurationS},
	"upstream_status":         {Kind: UpstreamStatus},
	"content_length":          {Kind: ReqHeader, Name: "content-length"},
	"content_type":            {Kind: ReqHeader, Name: "content-type"},
	"request_id":              {Kind: ReqHeader, Name: "x-request-id"},
	"ssl_client_s_dn":         {Kind: Attr, Name: "connection.subject_peer_certificate"},
	"ssl_server_name":         {Kind: Attr, Name: "connection.requested_server_name"},
	"ssl_client_fingerprint":  {Kind: Attr, Name: "connection.sha256_peer_certificate_digest"},
	"upstream_content_length": {Kind: Ignored},
}

// parseNginx reads nginx's log_format, with or without the directive's name and
// quotes around it.
func parseNginx(format string) (*textFormat, error) {
	format = strings.TrimSpace(format)
	name := "nginx's format"
	if rest, ok := strings.CutPrefix(format, "log_format "); ok {
		var err error
		if format, err = directive(rest); err != nil {
			return nil, err
		}
	}
	var pieces []piece
	for rest := format; rest != ""; {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			pieces = append(pieces, piece{text: rest})
			break
		}
		if i > 0 {
			pieces = append(pieces, piece{text: rest[:i]})
		}
		rest = rest[i+1:]
		var variable string
		if strings.HasPrefix(rest, "{") {
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return nil, FormatError("${ without its }")
			}
			variable, rest = rest[1:end], rest[end+1:]
		} else {
			end := 0
			for end < len(rest) && (rest[end] == '_' || '0' <= rest[end] && rest[end] <= '9' || 'a' <= rest[end] && rest[end] <= 'z' || 'A' <= rest[end] && rest[end] <= 'Z') {
				end++
			}
			variable, rest = rest[:end], rest[end:]
		}
		if variable == "" {
			return nil, FormatError("a $ without a name behind it")
		}
		field := nginxField(strings.ToLower(variable))
		pieces = append(pieces, piece{field: &field})
	}
	f, err := newText(name, pieces)
	if err != nil {
		return nil, err
	}
	f.escapes = true
	return f, nil
}

func nginxField(name string) Field {
	if f, ok := nginxFields[name]; ok {
		return f
	}
	header := func(s string) string { return strings.ReplaceAll(s, "_", "-") }
	for _, p := range [...]struct {
		prefix string
		kind   Kind
	}{
		{"upstream_http_", RespHeader}, {"sent_http_", RespHeader}, {"sent_trailer_", RespTrailer},
		{"upstream_trailer_", RespTrailer}, {"http_", ReqHeader}, {"cookie_", ReqCookie},
	} {
		rest, ok := strings.CutPrefix(name, p.prefix)
		switch {
		case !ok || rest == "":
		case p.kind == ReqHeader && rest == "host":
			return Field{Kind: Host}
		case p.kind == ReqCookie:
			return Field{Kind: ReqCookie, Name: rest}
		default:
			return Field{Kind: p.kind, Name: header(rest)}
		}
	}
	if rest, ok := strings.CutPrefix(name, "jwt_claim_"); ok && rest != "" {
		return Field{Kind: JWT, Name: rest}
	}
	return Field{Kind: Ignored}
}

// directive takes the format out of log_format NAME [escape=…] 'a' 'b';
func directive(s string) (string, error) {
	_, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	var b strings.Builder
	for rest = strings.TrimSpace(rest); rest != "" && rest != ";"; rest = strings.TrimSpace(rest) {
		if strings.HasPrefix(rest, "escape=") {
			_, rest, _ = strings.Cut(rest, " ")
			continue
		}
		quote := rest[0]
		if quote != '\'' && quote != '"' {
			return "", FormatError("a log_format directive is its name and then texts in quotes, not " + strconv.Quote(rest[:1]))
		}
		i := 1
		for i < len(rest) && rest[i] != quote {
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			b.WriteByte(rest[i])
			i++
		}
		if i >= len(rest) {
			return "", FormatError("a quote in log_format doesn't close")
		}
		rest = rest[i+1:]
	}
	if b.Len() == 0 {
		return "", FormatError("a log_format directive without a text in quotes")
	}
	return b.String(), nil
}
