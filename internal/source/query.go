package source

import (
	"strings"
)

func init() {
	register(Kind{Name: "query", Sep: ':', Arg: "NAME", Example: "query:api_key",
		Doc:   "A query parameter's value, decoded; of several with one name the first.",
		Parse: func(arg string) (Source, error) { return query{arg}, nil }})
}

// query is the value of a query parameter.
type query struct{ name string }

func (q query) String() string { return "query:" + q.name }

func (q query) Value(v *View) (string, bool) { return Query(v.Query(), q.name) }

// Query finds a parameter in a query string, as browsers write it: pairs with &
// between, + for a space and percent-escapes in names and values. An empty
// value is a missing one.
func Query(all, name string) (string, bool) {
	for all != "" {
		pair := all
		if i := strings.IndexByte(all, '&'); i >= 0 {
			pair, all = all[:i], all[i+1:]
		} else {
			all = ""
		}
		k, val, _ := strings.Cut(pair, "=")
		if val != "" && sameDecoded(k, name) {
			return decodeQuery(val), true
		}
	}
	return "", false
}

// nextQuery decodes the first character of s and returns how many bytes it took.
func nextQuery(s string) (c byte, n int) {
	switch c = s[0]; {
	case c == '+':
		return ' ', 1
	case c == '%' && len(s) > 2:
		if hi, lo := unhex(s[1]), unhex(s[2]); hi < 16 && lo < 16 {
			return hi<<4 | lo, 3
		}
	}
	return c, 1
}

// sameDecoded reports whether the encoded text stands for plain.
func sameDecoded(encoded, plain string) bool {
	for encoded != "" && plain != "" {
		c, n := nextQuery(encoded)
		if c != plain[0] {
			return false
		}
		encoded, plain = encoded[n:], plain[1:]
	}
	return encoded == plain
}

// decodeQuery returns what s stands for, s itself where nothing is encoded.
func decodeQuery(s string) string {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for s != "" {
		c, n := nextQuery(s)
		out = append(out, c)
		s = s[n:]
	}
	return string(out)
}
