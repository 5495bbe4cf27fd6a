package inspect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// absent is how a missing part of a key is shown.
const absent = "(missing)"

// Values are a key's parts as a person reads them.
func Values(escaped string) []string {
	if escaped == "" {
		return nil
	}
	parts := strings.Split(escaped, "|")
	for i, p := range parts {
		parts[i] = shown(p)
	}
	return parts
}

// shown is one part: its value, or what stands for it where only a hash is kept.
func shown(part string) string {
	if strings.HasPrefix(part, "%+") && len(part) > 3 {
		part = part[3:] // from another source than the first
	}
	switch {
	case part == "%-":
		return absent
	case strings.HasPrefix(part, "%"):
		if v := Unescape(part); v != part {
			return printable(v, part)
		}
		return part // a hash, with its mark
	}
	return printable(Unescape(part), part)
}

// printable is a value where a terminal can show it, else its escaped form.
func printable(value, escaped string) string {
	if !utf8.ValidString(value) {
		return escaped
	}
	for _, r := range value {
		if !unicode.IsPrint(r) {
			return escaped
		}
	}
	return value
}

// Unescape turns a part of a key back into the value that it was made of; marks
// stay.
func Unescape(part string) string {
	if !strings.Contains(part, "%") {
		return part
	}
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '%' && i+2 < len(part) {
			if hi, lo := hex(part[i+1]), hex(part[i+2]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(part[i])
	}
	return b.String()
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
