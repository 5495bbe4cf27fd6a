package wasmpack

import (
	"encoding/binary"
	"errors"
)

// SectionID is the kind of a section of a module.
type SectionID byte

// Sections of a module.
const (
	CustomSection   SectionID = 0
	TypeSection     SectionID = 1
	ImportSection   SectionID = 2
	FunctionSection SectionID = 3
	MemorySection   SectionID = 5
	GlobalSection   SectionID = 6
	ExportSection   SectionID = 7
	StartSection    SectionID = 8
	ElementSection  SectionID = 9
	CodeSection     SectionID = 10
	DataSection     SectionID = 11
)

// Section is one part of a module.
type Section struct {
	ID   SectionID
	Body []byte
}

const header = "\x00asm\x01\x00\x00\x00"

// Sections divides a module. What it returns is part of the module's bytes.
func Sections(module []byte) ([]Section, error) {
	r := &Reader{B: module}
	if string(r.Bytes(uint64(len(header)))) != header {
		return nil, errors.New("not a wasm module")
	}
	var out []Section
	for len(r.B) > 0 && r.Err == nil {
		out = append(out, Section{SectionID(r.Byte()), r.Bytes(r.Number())})
	}
	return out, r.Err
}

// Join makes a module of its sections.
func Join(sections []Section) []byte {
	out := []byte(header)
	for _, s := range sections {
		out = append(out, byte(s.ID))
		out = binary.AppendUvarint(out, uint64(len(s.Body)))
		out = append(out, s.Body...)
	}
	return out
}

// Reader reads the binary format of wasm. After an error all reads give 0.
type Reader struct {
	B   []byte // what is left
	Err error
}

var errShort = errors.New("the module ends too early")

// Bytes reads n bytes.
func (r *Reader) Bytes(n uint64) []byte {
	if r.Err != nil || n > uint64(len(r.B)) {
		r.Err = errShort
		r.B = nil
		return nil
	}
	out := r.B[:n]
	r.B = r.B[n:]
	return out
}

// Byte reads one.
func (r *Reader) Byte() byte {
	if b := r.Bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// Number reads an unsigned number.
func (r *Reader) Number() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.Byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.Err = errors.New("a number is too long")
	return 0
}

// signed reads a signed number.
func (r *Reader) signed() int64 {
	var n int64
	for shift := 0; shift < 64; shift += 7 {
		b := r.Byte()
		n |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift < 57 {
				n |= -1 << (shift + 7)
			}
			return n
		}
	}
	r.Err = errors.New("a number is too long")
	return 0
}

// Text reads a name.
func (r *Reader) Text() string { return string(r.Bytes(r.Number())) }

// appendSigned appends a signed number.
func appendSigned(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}
