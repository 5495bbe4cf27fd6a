package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// conn is one connection with at most one request under way.
type conn struct {
	place, lane, fd int

	request int   // under way; -1 for none
	due     int64 // when that was due
	free    int64 // since when there has been none
	in      []byte
	part    [4096]byte
}

// longestAnswer bounds what is kept of one answer, bytes.
const longestAnswer = 1 << 20

// answer is the start of an HTTP/1.1 answer.
type answer struct {
	status int
	header []byte
}

var (
	errNoAnswer  = errors.New("what came is no HTTP/1.1 answer")
	errNoLength  = errors.New("an answer without content-length")
	errTooLong   = errors.New("an answer is too long")
	errTwoOfThem = errors.New("more came than one answer")
)

// parseAnswer looks whether b is a whole answer. Answers have a content-length:
// those of gateways that are measured do.
func parseAnswer(b []byte) (a answer, done bool, err error) {
	if len(b) > longestAnswer {
		return a, false, errTooLong
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return a, false, nil
	}
	a.header = b[:end+2]
	line, fields, _ := bytes.Cut(a.header, []byte("\r\n"))
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return a, false, fmt.Errorf("%w: %.40q", errNoAnswer, line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, false, fmt.Errorf("%w: %.40q", errNoAnswer, line)
	}
	length := 0
	switch text, ok := Field(fields, "content-length"); {
	case ok:
		if length, err = strconv.Atoi(string(text)); err != nil || length < 0 || length > longestAnswer {
			return a, false, fmt.Errorf("%w: a content-length of %.20q", errNoAnswer, text)
		}
	case a.status != 204 && a.status != 304:
		return a, false, errNoLength
	}
	switch rest := len(b) - end - 4; {
	case rest > length:
		return a, false, errTwoOfThem
	default:
		return a, rest == length, nil
	}
}

// Field finds the value of a field in an answer's header; name is in lower case.
func Field(header []byte, name string) (value []byte, ok bool) {
	for line := range bytes.Lines(header) {
		n, v, found := bytes.Cut(line, []byte(":"))
		if found && len(n) == len(name) && bytes.EqualFold(n, []byte(name)) {
			return bytes.TrimSpace(v), true
		}
	}
	return nil, false
}
