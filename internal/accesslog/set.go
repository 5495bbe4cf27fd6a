package accesslog

import (
	"strconv"
	"strings"
)

// set puts a field's text into the record; "-" is a value that isn't there.
func (r *Record) set(f *Field, v string) error {
	if v == "-" || v == "" {
		switch f.Kind {
		case RequestLine:
			return errRequest
		case UpstreamStatus:
			r.NoAnswer, r.answered = true, true
		case Flags:
			if v == "-" && !r.answered {
				r.NoAnswer, r.answered = false, true
			}
		}
		return nil
	}
	switch f.Kind {
	case Time:
		at, ok := f.time(v)
		if !ok {
			return errTime
		}
		if f.rank > r.timeRank {
			r.At, r.timeRank = at, f.rank
		}
	case RequestLine:
		return r.requestLine(v)
	case Method:
		r.Method = v
	case Path:
		r.Path = v
	case PathAlone:
		if r.Path == "" {
			r.Path = v
		}
	case Query:
		r.query = v
	case Host:
		r.Host = v
	case Remote:
		if r.Remote == "" {
			r.Remote = v
		}
	case Status:
		r.Status = status(v)
		if !r.answered {
			// nginx's word for a client that left, and Envoy's for no status.
			r.NoAnswer = r.Status == 499 || r.Status == 0
		}
	case Sent:
		r.Sent = count(v)
	case Received:
		r.Received = count(v)
	case DurationMS, DurationS, DurationNS, DurationAny:
		r.DurationUS = duration(f.Kind, v)
	case Flags:
		r.NoAnswer, r.answered = noAnswer(v), true
	case Details:
		r.NoAnswer, r.answered = v != "via_upstream", true
	case UpstreamStatus:
		r.answered, r.NoAnswer = true, false
	case Ignored:
	default:
		r.named = append(r.named, namedValue{f, v})
	}
	return nil
}

// finish puts together what several fields say.
func (r *Record) finish(atEnd bool) error {
	if r.timeRank == 0 {
		return errTime
	}
	if r.Method == "" && r.Path == "" {
		return errRequest
	}
	if r.query != "" && strings.IndexByte(r.Path, '?') < 0 {
		r.Path += "?" + r.query
	}
	if atEnd && r.DurationUS > 0 {
		r.At = max(r.At-r.DurationUS, 0)
	}
	return nil
}

// requestLine reads "GET /path HTTP/1.1"; the protocol may be missing, and the
// path may hold spaces.
func (r *Record) requestLine(v string) error {
	method, rest, ok := strings.Cut(v, " ")
	if !ok || !isMethod(method) || rest == "" {
		return errRequest
	}
	if i := strings.LastIndexByte(rest, ' '); i > 0 && strings.HasPrefix(rest[i+1:], "HTTP/") {
		rest = rest[:i]
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return errRequest
	}
	r.Method, r.Path = method, rest
	return nil
}

func isMethod(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func status(v string) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > 999 {
		return 0
	}
	return n
}

func count(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// maxDuration bounds what a line may say, so that times stay in range: a year.
const maxDuration = 365 * 86_400 * 1_000_000

// duration returns microseconds, or -1.
func duration(k Kind, v string) int64 {
	// nginx lists one time for each upstream that it asked; the first counts.
	if i := strings.IndexAny(v, ", "); i >= 0 {
		v = v[:i]
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(v, "s"), 64)
	if err != nil || !(x >= 0) {
		return -1
	}
	switch k {
	case DurationS:
		x *= 1e6
	case DurationNS:
		x /= 1e3
	case DurationAny:
		if strings.ContainsAny(v, ".s") {
			x *= 1e6
		} else {
			x *= 1e3
		}
	default:
		x *= 1e3
	}
	if x > maxDuration {
		return -1
	}
	return int64(x)
}

// noAnswer reports whether Envoy's flags say that the upstream gave no answer.
func noAnswer(flags string) bool {
	for _, f := range strings.Split(flags, ",") {
		switch strings.TrimSpace(f) {
		case "UH", "UF", "UO", "NR", "NC", "UT", "DC", "LH", "UC", "UR", "RL", "UAEX", "RLSE", "IH", "SI", "DPE", "UPE", "UMSDR", "OM", "DF", "DO", "DR", "FI", "DI", "NFCF", "URX", "DT":
			return true
		}
	}
	return false
}
