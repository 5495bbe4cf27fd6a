package source

import (
	"bytes"
	"strings"
)

// SplitPath divides a request's :path into the path proper and the query
// without its question mark. A fragment is cut off, as is the scheme and
// authority of an absolute form.
func SplitPath(raw string) (path, query string) {
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	path = raw
	if i := strings.IndexByte(raw, '?'); i >= 0 {
		path, query = raw[:i], raw[i+1:]
	}
	if path != "" && path[0] != '/' {
		if i := strings.Index(path, "://"); i > 0 && strings.IndexByte(path[:i], '/') < 0 {
			rest := path[i+3:]
			if j := strings.IndexByte(rest, '/'); j >= 0 {
				path = rest[j:]
			} else {
				path = "/"
			}
		}
	}
	return path, query
}

// NormalizePath gives every spelling of a path that a server behind the proxy
// could take for the same resource one text: percent-escapes are decoded once,
// a backslash and an escaped slash are slashes, what follows a semicolon within
// a segment is dropped, empty and "." segments go, ".." takes its parent along,
// and case and a trailing slash go where o says so. path has no query. The
// result begins with a slash, save that of "" and "*", which stay.
func NormalizePath(path string, o *Options) string {
	if path == "" || path == "*" {
		return path
	}
	if o == nil {
		o = &noOptions
	}
	if !plainPath(path, o.IgnoreCase) {
		path = rewritePath(path, o.IgnoreCase)
	}
	if o.IgnoreTrailingSlash && len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path
}

// plainPath reports whether rewritePath would return p as it is.
func plainPath(p string, ignoreCase bool) bool {
	if p[0] != '/' {
		return false
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '/':
			if i+1 < len(p) && (p[i+1] == '/' || p[i+1] == '.') {
				return false
			}
		case c == '%', c == ';', c == '\\':
			return false
		case ignoreCase && ('A' <= c && c <= 'Z' || c >= 0x80):
			return false
		}
	}
	return true
}

func rewritePath(p string, ignoreCase bool) string {
	// out ends with a slash wherever a segment begins.
	out := make([]byte, 1, len(p)+1)
	out[0] = '/'
	start := 1
	params := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		if c == '%' && i+2 < len(p) {
			if hi, lo := unhex(p[i+1]), unhex(p[i+2]); hi < 16 && lo < 16 {
				c = hi<<4 | lo
				i += 2
			}
		}
		switch {
		case c == '/' || c == '\\':
			out = closeSegment(out, start, true)
			start = len(out)
			params = false
		case c == ';':
			params = true
		case !params:
			if ignoreCase && 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			out = append(out, c)
		}
	}
	out = closeSegment(out, start, false)
	s := string(out)
	if ignoreCase && !ascii(s) {
		s = strings.ToLower(s)
	}
	return s
}

// closeSegment ends the segment that begins at start, and begins the next one
// where more is true.
func closeSegment(out []byte, start int, more bool) []byte {
	switch seg := out[start:]; {
	case len(seg) == 0, len(seg) == 1 && seg[0] == '.':
		return out[:start]
	case len(seg) == 2 && seg[0] == '.' && seg[1] == '.':
		if start == 1 {
			return out[:1]
		}
		return out[:bytes.LastIndexByte(out[:start-1], '/')+1]
	case more:
		return append(out, '/')
	}
	return out
}

// unhex returns a hexadecimal digit's value, and 255 for any other byte.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// NormalizeHost gives every spelling of an authority one text: lower case, no
// user, port or final dot. An IPv6 address keeps its brackets.
func NormalizeHost(h string) string {
	if i := strings.LastIndexByte(h, '@'); i >= 0 {
		h = h[i+1:]
	}
	if i := strings.LastIndexByte(h, ':'); i >= 0 && i > strings.LastIndexByte(h, ']') {
		h = h[:i]
	}
	for h != "" && h[len(h)-1] == '.' {
		h = h[:len(h)-1]
	}
	for i := 0; i < len(h); i++ {
		if 'A' <= h[i] && h[i] <= 'Z' {
			return strings.ToLower(h)
		}
	}
	return h
}

// Segment returns the n-th segment of a normalised path, counted from 1.
func Segment(path string, n int) (string, bool) {
	if path == "" || path[0] != '/' {
		return "", false
	}
	path = path[1:]
	for {
		i := strings.IndexByte(path, '/')
		if n == 1 {
			if i >= 0 {
				path = path[:i]
			}
			return path, path != ""
		}
		if i < 0 {
			return "", false
		}
		path = path[i+1:]
		n--
	}
}
