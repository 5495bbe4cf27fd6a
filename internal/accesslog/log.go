package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds on what is kept in memory.
const (
	maxLine     = 1 << 20   // bytes of a line
	defaultRun  = 128 << 20 // bytes of lines that are sorted in memory at once
	guessLines  = 200       // lines by which a format is guessed
	exampleLine = 160       // bytes of an example that are shown
)

// Options say how a log is read.
type Options struct {
	Parser Parser // nil to guess by the first lines
	// RunBytes bounds the lines in memory, bytes; 0 for 128 MiB. What is more goes
	// to sorted temporary files, which Close removes.
	RunBytes int
	// Read is told how many bytes of the input were read so far; it may be nil.
	Read func(n int64)
}

// Problem is a kind of defect: lines that weren't read, or only in part.
type Problem struct {
	Reason  string `json:"reason"`
	Count   int64  `json:"count"`
	Line    int64  `json:"first_line"` // of the first one, counted from 1 over all inputs
	Example string `json:"first"`      // the first one, cut
	Skipped bool   `json:"skipped"`    // false: read as far as it went
}

// Log is a log that was read through once: its lines wait in the order of their
// time.
type Log struct {
	Parser   Parser
	Lines    int64 // of the input, empty ones apart
	Read     int64 // that hold a request
	Problems []Problem
	From, To int64 // the first and the last time: microseconds since the epoch
	// OutOfOrder counts the lines that are earlier than one before them.
	OutOfOrder int64

	sorter sorter
}

// Open reads inputs one after the other, each plain or compressed by gzip. The
// caller closes the Log.
func Open(ctx context.Context, inputs []io.Reader, o Options) (*Log, error) {
	l := &Log{Parser: o.Parser}
	l.sorter.limit = o.RunBytes
	if l.sorter.limit <= 0 {
		l.sorter.limit = defaultRun
	}
	s := scan{log: l, ctx: ctx, read: o.Read}
	for _, in := range inputs {
		if err := s.input(in); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	if err := s.decide(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := l.sorter.finish(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close removes what is on disk.
func (l *Log) Close() error { return l.sorter.close() }

// Each calls f with every request in the order of its time, those of one time in
// the order of the lines. The record is valid until f returns. It may be called
// again.
func (l *Log) Each(f func(r *Record) error) error {
	var r Record
	return l.sorter.each(func(at int64, line string) error {
		if _, err := l.Parser.Parse(line, &r); err != nil {
			return err // it was read before
		}
		r.At = at
		return f(&r)
	})
}

// Skipped is how many lines weren't read.
func (l *Log) Skipped() int64 { return l.Lines - l.Read }

// scan is the first pass over a log.
type scan struct {
	log   *Log
	ctx   context.Context
	read  func(int64)
	total int64
	held  []string // lines that wait until the format is known
	last  int64
	rec   Record
}

// ErrUnknownFormat means that no known format fits a log's first lines.
var ErrUnknownFormat = errors.New("none of the formats known by name fits the first lines")

func (s *scan) input(in io.Reader) error {
	counted := &counter{in: in, scan: s}
	buf := bufio.NewReaderSize(counted, 256<<10)
	if magic, err := buf.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return err
		}
		buf = bufio.NewReaderSize(z, 256<<10)
	}
	for {
		line, long, err := readLine(buf)
		if len(line) > 0 || long {
			if err := s.line(line, long); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return s.ctx.Err()
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
			s.log.problem("the compressed file is damaged or breaks off here", false, s.log.Lines, "")
			return s.ctx.Err()
		default:
			return err
		}
		if s.log.Lines&1023 == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
	}
}

// readLine returns a line without its end; long says that it was cut.
func readLine(buf *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := buf.ReadSlice('\n')
		if line == nil && err == nil {
			return bytes.TrimRight(part, "\r\n"), false, nil
		}
		if !long {
			line = append(line, part...)
			if len(line) > maxLine {
				line, long = line[:exampleLine], true
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), long, err
		}
	}
}

// counter counts what is read.
type counter struct {
	in   io.Reader
	scan *scan
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.scan.total += int64(n)
	if c.scan.read != nil {
		c.scan.read(c.scan.total)
	}
	return n, err
}

// line takes one line of the input.
func (s *scan) line(line []byte, long bool) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	l := s.log
	if l.Parser == nil && !long {
		s.held = append(s.held, string(line))
		if len(s.held) < guessLines {
			return nil
		}
		return s.decide()
	}
	l.Lines++
	switch {
	case long:
		l.problem(string(errTooLong), true, l.Lines, string(line))
		return nil
	case bytes.IndexByte(line, 0) >= 0:
		l.problem(string(errNotText), true, l.Lines, string(line))
		return nil
	}
	// The parser's texts point into the line, and are of no use after this.
	text := string(line)
	short, err := l.Parser.Parse(text, &s.rec)
	if err != nil {
		l.problem(err.Error(), true, l.Lines, text)
		return nil
	}
	if short {
		l.problem("breaks off: read as far as it goes", false, l.Lines, text)
	}
	at := s.rec.At
	if l.Read == 0 {
		l.From, l.To = at, at
	}
	l.From, l.To = min(l.From, at), max(l.To, at)
	l.Read++
	if at < s.last {
		l.OutOfOrder++
	}
	s.last = max(s.last, at)
	return l.sorter.add(at, line)
}

// decide guesses the format by the lines held, and reads them.
func (s *scan) decide() error {
	if s.log.Parser != nil || len(s.held) == 0 {
		return nil
	}
	if s.log.Parser = Guess(s.held); s.log.Parser == nil {
		return ErrUnknownFormat
	}
	held := s.held
	s.held = nil
	for _, line := range held {
		if err := s.line([]byte(line), false); err != nil {
			return err
		}
	}
	return nil
}

// problem counts a defect.
func (l *Log) problem(reason string, skipped bool, line int64, example string) {
	for i := range l.Problems {
		if p := &l.Problems[i]; p.Reason == reason {
			p.Count++
			return
		}
	}
	l.Problems = append(l.Problems, Problem{Reason: reason, Count: 1, Line: line, Example: shown(example), Skipped: skipped})
}

// shown is a line as it may be printed: short, and without control characters.
func shown(s string) string {
	if len(s) > exampleLine {
		s = strings.ToValidUTF8(s[:exampleLine], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e {
			return '·'
		}
		return r
	}, s)
}
