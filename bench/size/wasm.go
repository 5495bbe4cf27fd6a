package main

import (
	"errors"
	"fmt"
)

// module is what a compiled module is made of, bytes.
type module struct {
	size     int
	code     int // of all functions
	data     int // what memory starts with, as it is written in the module
	segments int // pieces of data
	funcs    []function
}

// function is one that the module defines.
type function struct {
	name string // "" in a module without names
	size int
}

var errShort = errors.New("the module ends too early")

// reader reads the binary format of wasm. After an error all reads give 0.
type reader struct {
	b   []byte
	err error
}

func (r *reader) bytes(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)) {
		r.err = errShort
		r.b = nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// number reads a LEB128 number, unsigned.
func (r *reader) number() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 || shift > 63 {
			return n
		}
	}
}

func (r *reader) text() string { return string(r.bytes(r.number())) }

// Sections of a module, by their ids.
const (
	sectionCustom = 0
	sectionImport = 2
	sectionCode   = 10
	sectionData   = 11

	nameFunctions = 1 // within the custom section called name
)

// parse reads a module.
func parse(b []byte) (*module, error) {
	r := &reader{b: b}
	if string(r.bytes(8)) != "\x00asm\x01\x00\x00\x00" {
		return nil, errors.New("not a wasm module")
	}
	m := &module{size: len(b)}
	imports := 0
	names := map[int]string{}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		s := &reader{b: r.bytes(r.number())}
		size := len(s.b)
		switch id {
		case sectionImport:
			for range s.number() {
				s.text()
				s.text()
				if kind := s.byte(); kind != 0 {
					return nil, fmt.Errorf("an import of kind %d", kind)
				}
				s.number()
				imports++
			}
		case sectionCode:
			m.code = size
			for range s.number() {
				n := s.number()
				s.bytes(n)
				m.funcs = append(m.funcs, function{size: int(n)})
			}
		case sectionData:
			m.data = size
			m.segments = int(s.number())
		case sectionCustom:
			if s.text() == "name" {
				readNames(s, names)
			}
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	for i := range m.funcs {
		m.funcs[i].name = names[imports+i]
	}
	return m, r.err
}

func readNames(s *reader, names map[int]string) {
	for len(s.b) > 0 {
		id := s.byte()
		sub := &reader{b: s.bytes(s.number())}
		if id != nameFunctions {
			continue
		}
		for range sub.number() {
			i := int(sub.number())
			names[i] = sub.text()
		}
	}
}
