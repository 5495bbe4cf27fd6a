// Package key turns a request into the name of the counter that a limit keeps
// for it. Two requests share a counter only when every part of their keys is
// the same, whatever bytes the parts hold.
package key

import (
	"errors"
	"strings"
	"unsafe"

	"sluice/internal/digest"
	"sluice/internal/source"
)

// MaxParts is how many parts a key may have, and how many alternatives a part.
const MaxParts = 16

// maxLiteral is the longest value that stands in a key as it is, bytes. Longer
// ones are hashed.
const maxLiteral = 64

// Marks stand in place of a value or before it. A percent sign in a value is
// escaped and two hexadecimal digits follow it, so no value looks like a mark.
const (
	markAbsent = "%-" // the request lacks this part
	markHash   = "%~" // a hash follows instead of a long value
	markAlt    = "%+" // followed by a letter: not the first alternative gave the value
)

// Part is one part of a key: the first of its sources that a request has.
type Part []source.Source

// Key is a compiled key. It is immutable. A nil Key has no parts: all requests
// share one counter.
type Key struct {
	parts  []Part
	hasher *Hasher // nil for plain values
}

// New makes a key of parts.
func New(parts ...Part) *Key { return &Key{parts: parts} }

// Hashed returns the key with its values replaced by keyed hashes.
func (k *Key) Hashed(h *Hasher) *Key {
	if k == nil {
		return nil
	}
	return &Key{k.parts, h}
}

// ParsePart reads one part: a source, or several joined by " or ".
func ParsePart(text string) (Part, error) {
	alternatives := strings.SplitN(text, " or ", MaxParts+1)
	if len(alternatives) > MaxParts {
		return nil, errors.New("a key's part has at most 16 alternatives")
	}
	var p Part
	for _, alt := range alternatives {
		s, err := source.Parse(strings.TrimSpace(alt))
		if err != nil {
			return nil, err
		}
		for _, have := range p {
			if have.String() == s.String() {
				return nil, errors.New(s.String() + " is there twice")
			}
		}
		p = append(p, s)
	}
	return p, nil
}

// Parts lists the key's parts.
func (k *Key) Parts() []Part {
	if k == nil {
		return nil
	}
	return k.parts
}

func (p Part) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(s.String())
	}
	return b.String()
}

func (k *Key) String() string {
	var b strings.Builder
	for i, p := range k.Parts() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Append appends a request's values, escaped and joined by "|". missing is true
// when the request lacks a part; all requests that lack the same parts and
// agree in the others then share a counter.
func (k *Key) Append(dst []byte, v *source.View) (out []byte, missing bool) {
	if k == nil {
		return dst, false
	}
	for i, p := range k.parts {
		if i > 0 {
			dst = append(dst, '|')
		}
		var ok bool
		if dst, ok = p.append(dst, v, k.hasher); !ok {
			dst = append(dst, markAbsent...)
			missing = true
		}
	}
	return dst, missing
}

func (p Part) append(dst []byte, v *source.View, h *Hasher) ([]byte, bool) {
	for i, s := range p {
		start := len(dst)
		if i > 0 {
			// The same text from another source is another caller.
			dst = append(dst, markAlt...)
			dst = append(dst, 'a'+byte(i))
		}
		if a, ok := s.(source.Appender); ok {
			at := len(dst)
			if dst, ok = a.AppendValue(dst, v); ok {
				if h != nil {
					return h.appendTail(dst, at), true
				}
				return escapeTail(dst, at), true
			}
		} else if val, ok := s.Value(v); ok {
			if h != nil {
				return h.appendTail(append(dst, val...), len(dst)), true
			}
			return AppendValue(dst, val), true
		}
		dst = dst[:start]
	}
	return dst, false
}

// Given is a value that somebody names for one part of a key.
type Given struct {
	Alternative int    // which of the part's sources has it, from 0
	Value       string // as the source gives it
	Absent      bool   // the request lacks the part
}

// AppendGiven appends what Append appends for a request with these values, one
// for each part.
func (k *Key) AppendGiven(dst []byte, values []Given) []byte {
	for i, g := range values {
		if i > 0 {
			dst = append(dst, '|')
		}
		switch {
		case g.Absent:
			dst = append(dst, markAbsent...)
			continue
		case g.Alternative > 0:
			dst = append(append(dst, markAlt...), 'a'+byte(g.Alternative))
		}
		if k != nil && k.hasher != nil {
			dst = k.hasher.appendTail(append(dst, g.Value...), len(dst))
		} else {
			dst = AppendValue(dst, g.Value)
		}
	}
	return dst
}

// escapeTail escapes the value that begins at at.
func escapeTail(dst []byte, at int) []byte {
	tail := dst[at:]
	clean := len(tail) <= maxLiteral
	for i := 0; clean && i < len(tail); i++ {
		clean = plain[tail[i]]
	}
	if clean {
		return dst
	}
	var buf [maxLiteral]byte
	raw := append(buf[:0], tail...)
	return AppendValue(dst[:at], unsafe.String(&raw[0], len(raw)))
}

// AppendValue appends one value, escaped, or its hash where it is long. The
// result holds none of { } | : nor bytes outside printable ASCII.
func AppendValue(dst []byte, val string) []byte {
	if len(val) > maxLiteral {
		return appendHash(dst, val)
	}
	for i := 0; i < len(val); i++ {
		c := val[i]
		if plain[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

const hexDigits = "0123456789ABCDEF"

// plain has the bytes that stand for themselves.
var plain = func() (t [256]bool) {
	for c := 0x21; c < 0x7f; c++ {
		t[c] = true
	}
	for _, c := range []byte("{}|:%") {
		t[c] = false
	}
	return t
}()

// appendHash appends half of a SHA-256: 128 bits leave no second value for a
// counter to be found, and two of one's own values that meet harm nobody else.
func appendHash(dst []byte, val string) []byte {
	sum := digest.SHA256(unsafe.Slice(unsafe.StringData(val), len(val)))
	return appendHex(append(dst, markHash...), sum[:16])
}
