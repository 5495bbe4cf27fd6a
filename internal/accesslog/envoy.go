package accesslog

import (
	"strconv"
	"strings"
)

// envoyFormat is what Envoy writes when it isn't told a format.
const envoyFormat = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"`

// istioFormat is Istio's default text format.
const istioFormat = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%`

// envoyFields are Envoy's operators that take no argument and matter here.
var envoyFields = map[string]Field{
	"RESPONSE_CODE":                          {Kind: Status},
	"RESPONSE_FLAGS":                         {Kind: Flags},
	"RESPONSE_CODE_DETAILS":                  {Kind: Details},
	"BYTES_SENT":                             {Kind: Sent},
	"BYTES_RECEIVED":                         {Kind: Received},
	"DURATION":                               {Kind: DurationMS},
	"DOWNSTREAM_REMOTE_ADDRESS":              {Kind: Remote},
	"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": {Kind: Remote},
	"ROUTE_NAME":                             {Kind: Route},
	"REQUESTED_SERVER_NAME":                  {Kind: Attr, Name: "connection.requested_server_name"},
	"DOWNSTREAM_PEER_URI_SAN":                {Kind: Attr, Name: "connection.uri_san_peer_certificate"},
	"DOWNSTREAM_PEER_SUBJECT":                {Kind: Attr, Name: "connection.subject_peer_certificate"},
	"PROTOCOL":                               {Kind: Attr, Name: "request.protocol"},
}

// jwtNamespace is where jwt_authn stores the payloads of verified tokens.
const jwtNamespace = "envoy.filters.http.jwt_authn"

// parseEnvoy reads Envoy's format string.
func parseEnvoy(format string) (*textFormat, error) {
	// As a file or a shell gives it, a newline may still be escaped.
	format = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(format, "\r\n"), `\n`), "\r\n")
	var pieces []piece
	for rest := format; rest != ""; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			pieces = append(pieces, piece{text: rest})
			break
		}
		if i > 0 {
			pieces = append(pieces, piece{text: rest[:i]})
		}
		rest = rest[i+1:]
		if strings.HasPrefix(rest, "%") {
			pieces = append(pieces, piece{text: "%"})
			rest = rest[1:]
			continue
		}
		end := operatorEnd(rest)
		if end < 0 {
			return nil, FormatError("an operator that begins with % doesn't end with one: " + strconv.Quote("%"+cut(rest, 40)))
		}
		field, err := envoyField(rest[:end])
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{field: &field})
		rest = rest[end+1:]
	}
	return newText("Envoy's format", pieces)
}

// operatorEnd is where the operator's closing % is, or -1; an argument in
// brackets may hold more of them.
func operatorEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '%':
			if depth <= 0 {
				return i
			}
		}
	}
	return -1
}

// envoyField is the field of an operator, without its percent signs.
func envoyField(op string) (Field, error) {
	name, rest, hasArg := strings.Cut(op, "(")
	if !hasArg {
		name, _, _ = strings.Cut(name, ":") // a length to cut at
		switch name {
		case "START_TIME", "START_TIME_LOCAL":
			return Field{Kind: Time, time: isoTime, rank: fine}, nil
		}
		if f, ok := envoyFields[name]; ok {
			return f, nil
		}
		if name == "" {
			return Field{}, FormatError("an operator without a name: %%")
		}
		return Field{Kind: Ignored}, nil
	}
	close := strings.LastIndexByte(rest, ')')
	if close < 0 {
		return Field{}, FormatError("%" + op + "% has a bracket that doesn't close")
	}
	arg := rest[:close]
	switch name {
	case "START_TIME", "START_TIME_LOCAL":
		read, rank, err := layoutTime(arg)
		return Field{Kind: Time, time: read, rank: rank}, err
	case "REQ", "REQUEST_HEADER":
		return requestHeader(arg, Path), nil
	case "REQ_WITHOUT_QUERY":
		return requestHeader(arg, PathAlone), nil
	case "RESP", "RESPONSE_HEADER":
		return Field{Kind: RespHeader, Name: lastName(arg)}, nil
	case "TRAILER":
		return Field{Kind: RespTrailer, Name: lastName(arg)}, nil
	case "PATH":
		if strings.HasPrefix(strings.ToUpper(arg), "NQ") {
			return Field{Kind: PathAlone}, nil
		}
		return Field{Kind: Path}, nil
	case "DYNAMIC_METADATA", "METADATA":
		arg = strings.TrimPrefix(arg, "DYNAMIC:")
		ns, keys, ok := strings.Cut(arg, ":")
		if !ok {
			return Field{Kind: Ignored}, nil
		}
		if ns == jwtNamespace {
			_, claim, ok := strings.Cut(keys, ":")
			if !ok {
				return Field{Kind: Ignored}, nil // a whole payload
			}
			return Field{Kind: JWT, Name: strings.ReplaceAll(claim, ":", ".")}, nil
		}
		return Field{Kind: Metadata, Name: ns + "." + strings.ReplaceAll(keys, ":", ".")}, nil
	case "FILTER_STATE":
		key, _, _ := strings.Cut(arg, ":")
		return Field{Kind: FilterState, Name: key}, nil
	}
	return Field{Kind: Ignored}, nil
}

// requestHeader is the field of %REQ(NAME?OTHER)%, which is either header.
func requestHeader(arg string, path Kind) Field {
	switch name := lastName(arg); name {
	case ":method":
		return Field{Kind: Method}
	case ":path", "x-envoy-original-path":
		return Field{Kind: path}
	case ":authority", "host":
		return Field{Kind: Host}
	default:
		return Field{Kind: ReqHeader, Name: name}
	}
}

// lastName is the name that counts in X?Y: the one that requests have without a
// proxy's doing.
func lastName(arg string) string {
	if i := strings.LastIndexByte(arg, '?'); i >= 0 {
		arg = arg[i+1:]
	}
	return strings.ToLower(strings.TrimSpace(arg))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
