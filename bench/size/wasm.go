package main

import (
	"fmt"

	"sluice/internal/wasmpack"
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

// parse reads a module.
func parse(b []byte) (*module, error) {
	sections, err := wasmpack.Sections(b)
	if err != nil {
		return nil, err
	}
	m := &module{size: len(b)}
	imports := 0
	names := map[int]string{}
	for _, section := range sections {
		s := &wasmpack.Reader{B: section.Body}
		switch section.ID {
		case wasmpack.ImportSection:
			for range s.Number() {
				s.Text()
				s.Text()
				if kind := s.Byte(); kind != 0 {
					return nil, fmt.Errorf("an import of kind %d", kind)
				}
				s.Number()
				imports++
			}
		case wasmpack.CodeSection:
			m.code = len(section.Body)
			for range s.Number() {
				n := s.Number()
				s.Bytes(n)
				m.funcs = append(m.funcs, function{size: int(n)})
			}
		case wasmpack.DataSection:
			m.data = len(section.Body)
			m.segments = int(s.Number())
		case wasmpack.CustomSection:
			if s.Text() == "name" {
				readNames(s, names)
			}
		}
		if s.Err != nil {
			return nil, s.Err
		}
	}
	for i := range m.funcs {
		m.funcs[i].name = names[imports+i]
	}
	return m, nil
}

func readNames(s *wasmpack.Reader, names map[int]string) {
	const functions = 1 // the part that names them
	for len(s.B) > 0 {
		id := s.Byte()
		part := &wasmpack.Reader{B: s.Bytes(s.Number())}
		if id != functions {
			continue
		}
		for range part.Number() {
			i := int(part.Number())
			names[i] = part.Text()
		}
	}
}
