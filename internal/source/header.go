package source

import (
	"errors"
	"strings"
)

func init() {
	register(Kind{Name: "header", Sep: ':', Arg: "NAME", Example: "header:x-api-key",
		Doc:   "A request header; a repeated one is its values joined by a comma.",
		Parse: parseHeader})
}

// Header is a request header.
type Header struct{ name string }

// better names the source that gives what a header carries in one spelling.
var better = map[string]string{
	":method": "method", ":path": "path", ":authority": "host", "host": "host",
	":scheme": "attr:request.scheme", ":protocol": "header:upgrade",
}

func parseHeader(arg string) (Source, error) {
	name := strings.ToLower(arg)
	if b := better[name]; b != "" {
		return nil, errors.New("use " + b + " instead of header:" + arg)
	}
	if !Token(name) {
		return nil, errors.New("\"" + arg + "\" is not a header name")
	}
	return Header{name}, nil
}

func (h Header) String() string { return "header:" + h.name }

func (h Header) Value(v *View) (string, bool) { return v.Header(h.name) }

// Token reports whether s can be the name of a header: one or more of the
// characters that HTTP allows there.
func Token(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
