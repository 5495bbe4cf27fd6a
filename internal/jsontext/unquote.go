package jsontext

import (
	"strings"
	"unicode/utf8"
)

// Unquote returns what a string in quotes stands for. Half of a surrogate pair alone
// is U+FFFD.
func Unquote(raw string) string {
	s := strings.TrimPrefix(raw, `"`)
	if n := len(s) - 1; n >= 0 && s[n] == '"' {
		s = s[:n]
	}
	at := strings.IndexByte(s, '\\')
	if at < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for ; at >= 0; at = strings.IndexByte(s, '\\') {
		out = append(out, s[:at]...)
		if s = s[at+1:]; s == "" {
			break
		}
		c := s[0]
		s = s[1:]
		if c == 'u' {
			r := unit(s)
			s = s[min(4, len(s)):]
			if half(r) && len(s) >= 2 && s[:2] == `\u` {
				if pair := join(r, unit(s[2:])); pair != utf8.RuneError {
					r, s = pair, s[6:]
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		if i := strings.IndexByte("bfnrt", c); i >= 0 {
			c = "\b\f\n\r\t"[i]
		}
		out = append(out, c)
	}
	return string(append(out, s...))
}

// unit reads the four digits after \u; U+FFFD where there are none. As other small
// functions here it isn't inlined, which would make it larger.
//
//go:noinline
func unit(s string) rune {
	if len(s) < 4 {
		return utf8.RuneError
	}
	r := rune(0)
	for i := range 4 {
		c := s[i] | 0x20
		switch {
		case '0' <= s[i] && s[i] <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		default:
			return utf8.RuneError
		}
	}
	return r
}

// half reports whether r is the first half of a surrogate pair.
func half(r rune) bool { return r>>10 == 0xD800>>10 }

// join makes a rune of a pair's halves; U+FFFD where the second is none.
func join(high, low rune) rune {
	if low>>10 != 0xDC00>>10 {
		return utf8.RuneError
	}
	return 0x10000 + (high&0x3FF)<<10 | low&0x3FF
}
