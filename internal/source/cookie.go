package source

import (
	"errors"
	"strings"
)

func init() {
	register(Kind{Name: "cookie", Sep: ':', Arg: "NAME", Example: "cookie:session",
		Doc:   "A cookie's value; of several with one name the first.",
		Parse: parseCookie})
}

// cookie is the value of a cookie.
type cookie struct{ name string }

func parseCookie(arg string) (Source, error) {
	if !Token(arg) {
		return nil, errors.New("\"" + arg + "\" is not a cookie's name")
	}
	return cookie{arg}, nil
}

func (c cookie) String() string { return "cookie:" + c.name }

func (c cookie) Value(v *View) (string, bool) {
	all, ok := v.Header("cookie")
	if !ok {
		return "", false
	}
	return Cookie(all, c.name)
}

// Cookie finds a cookie in a Cookie header's value, as browsers write it: pairs
// with semicolons between. A pair without = has no name. An empty value is a
// missing one.
func Cookie(all, name string) (string, bool) {
	for all != "" {
		pair := all
		if i := strings.IndexByte(all, ';'); i >= 0 {
			pair, all = all[:i], all[i+1:]
		} else {
			all = ""
		}
		k, val, ok := strings.Cut(pair, "=")
		if ok && strings.Trim(k, " \t") == name {
			if val = strings.Trim(val, " \t"); val != "" {
				return val, true
			}
		}
	}
	return "", false
}
