package accesslog

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"unsafe"
)

// sorter brings lines into the order of their time. Lines are sorted in memory
// until they fill it; such a run then goes to a temporary file, and in the end
// the files are merged. A run that begins after another has ended is appended to
// it, so a log that is in order, or nearly so, makes one file.
type sorter struct {
	limit int // bytes in memory
	text  []byte
	index []entry
	seq   int64
	files []*runFile
}

// entry is a line in memory.
type entry struct {
	at, seq  int64
	off, end int
}

// runFile is a sorted run on disk.
type runFile struct {
	f    *os.File
	w    *bufio.Writer
	last int64 // the last line's time
}

// maxFiles bounds how many files are open at once.
const maxFiles = 256

// errScattered is a log whose order is beyond what is worth sorting.
var errScattered = errors.New("the lines are too far out of order to be sorted in bounded memory: sort the log by time first")

func (s *sorter) add(at int64, line []byte) error {
	if len(s.text)+len(line)+len(s.index)*int(unsafe.Sizeof(entry{})) > s.limit && len(s.index) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	off := len(s.text)
	s.text = append(s.text, line...)
	s.index = append(s.index, entry{at, s.seq, off, len(s.text)})
	s.seq++
	return nil
}

func (s *sorter) sort() {
	byTime := func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) }
	if !slices.IsSortedFunc(s.index, byTime) {
		slices.SortFunc(s.index, byTime)
	}
}

// spill writes what is in memory to a file.
func (s *sorter) spill() error {
	s.sort()
	first := s.index[0].at
	var to *runFile
	for _, f := range s.files {
		if f.last <= first && (to == nil || f.last > to.last) {
			to = f
		}
	}
	if to == nil {
		if len(s.files) == maxFiles {
			return errScattered
		}
		f, err := os.CreateTemp("", "sluice-simulate-*")
		if err != nil {
			return err
		}
		// Where a file can go while it is open, nothing stays even after a crash.
		_ = os.Remove(f.Name())
		to = &runFile{f: f, w: bufio.NewWriterSize(f, 256<<10)}
		s.files = append(s.files, to)
	}
	var head []byte
	for _, e := range s.index {
		head = binary.AppendVarint(head[:0], e.at)
		head = binary.AppendVarint(head, e.seq)
		head = binary.AppendUvarint(head, uint64(e.end-e.off))
		if _, err := to.w.Write(head); err != nil {
			return err
		}
		if _, err := to.w.Write(s.text[e.off:e.end]); err != nil {
			return err
		}
		to.last = e.at
	}
	s.text, s.index = s.text[:0], s.index[:0]
	return nil
}

// finish ends the adding.
func (s *sorter) finish() error {
	if len(s.files) == 0 {
		s.sort()
		return nil
	}
	if len(s.index) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.text, s.index = nil, nil
	for _, f := range s.files {
		if err := f.w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sorter) close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.f.Close())
		if e := os.Remove(f.f.Name()); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	s.files, s.text, s.index = nil, nil, nil
	return err
}

// each calls f with every line in order.
func (s *sorter) each(f func(at int64, line string) error) error {
	if len(s.files) == 0 {
		for _, e := range s.index {
			// The text no longer changes.
			line := unsafe.String(unsafe.SliceData(s.text[e.off:e.end]), e.end-e.off)
			if err := f(e.at, line); err != nil {
				return err
			}
		}
		return nil
	}
	var m merge
	for _, file := range s.files {
		c := &cursor{r: bufio.NewReaderSize(io.NewSectionReader(file.f, 0, 1<<62), 256<<10)}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			m = append(m, c)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		c := m[0]
		if err := f(c.at, string(c.line)); err != nil {
			return err
		}
		more, err := c.next()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// cursor reads a run.
type cursor struct {
	r       *bufio.Reader
	at, seq int64
	line    []byte
}

// next moves to the next line; false at the end.
func (c *cursor) next() (bool, error) {
	var err error
	if c.at, err = binary.ReadVarint(c.r); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return false, err
	}
	if c.seq, err = binary.ReadVarint(c.r); err != nil {
		return false, err
	}
	n, err := binary.ReadUvarint(c.r)
	if err != nil {
		return false, err
	}
	c.line = slices.Grow(c.line[:0], int(n))[:n]
	_, err = io.ReadFull(c.r, c.line)
	return err == nil, err
}

// merge is a heap of runs by their next line.
type merge []*cursor

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].seq < m[j].seq
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*cursor)) }
func (m *merge) Pop() any {
	old := *m
	c := old[len(old)-1]
	*m = old[:len(old)-1]
	return c
}
