package wasmfile

import (
	"encoding/binary"
	"errors"
)

// Kinds of sections that this package looks into, as wasm numbers them.
const (
	customSection = 0
	importSection = 2
	exportSection = 7
)

const header = "\x00asm\x01\x00\x00\x00"

// errNoModule means that a file isn't a wasm module, or is cut off.
var errNoModule = errors.New("not a wasm module, or a damaged one")

// section is one part of a module; whole is it with its head.
type section struct {
	id          byte
	body, whole []byte
}

// sections divides a module; what it returns is part of the module's bytes.
func sections(module []byte) ([]section, error) {
	if len(module) < len(header) || string(module[:len(header)]) != header {
		return nil, errNoModule
	}
	r := reader{b: module[len(header):]}
	var list []section
	for len(r.b) > 0 {
		start := r.b
		id := r.take(1)
		body := r.take(r.number())
		if r.bad {
			return nil, errNoModule
		}
		list = append(list, section{id[0], body, start[:len(start)-len(r.b)]})
	}
	return list, nil
}

// reader reads wasm's binary format. Once it is bad all reads are empty.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string { return string(r.take(r.number())) }

// imports are the names of the functions that a module wants from its host.
func imports(body []byte) ([]string, error) {
	r := reader{b: body}
	var names []string
	for n := r.number(); n > 0 && !r.bad; n-- {
		r.text() // the module's name
		name := r.text()
		kind := r.take(1)
		if r.bad || kind[0] != 0 {
			return nil, errNoModule // a proxy offers functions only
		}
		r.number() // its type
		names = append(names, name)
	}
	if r.bad {
		return nil, errNoModule
	}
	return names, nil
}

// exports are the names of what a module offers its host.
func exports(body []byte) ([]string, error) {
	r := reader{b: body}
	var names []string
	for n := r.number(); n > 0 && !r.bad; n-- {
		names = append(names, r.text())
		r.take(1) // its kind
		r.number()
	}
	if r.bad {
		return nil, errNoModule
	}
	return names, nil
}
