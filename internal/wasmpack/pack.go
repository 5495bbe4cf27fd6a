// Package wasmpack makes compiled modules smaller.
//
// Go's linker writes what memory starts with as it is, and leaves out only runs
// of zeros, each of which begins another piece; a module of 6 MB has 70,000 of
// them. A third of that is a table that finds functions by their addresses, 320
// bytes a function and nearly all the same. A proxy holds several copies of all
// this, and a list of the pieces. Packed, it is one piece, which a few
// instructions unpack when a VM starts.
package wasmpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	pageSize = 64 << 10
	maxPages = 1 << 10 // of memory at the start; Go's modules need 100
)

// piece is what memory has at an address when a VM starts.
type piece struct {
	address int
	bytes   []byte
}

// Pack returns a module that does what the given one does, with its data packed.
// The module must be one of Go's: it has one memory, no start function, and data
// at fixed addresses.
func Pack(module []byte) ([]byte, error) {
	sections, err := Sections(module)
	if err != nil {
		return nil, err
	}
	at := map[SectionID]*Section{}
	for i := range sections {
		at[sections[i].ID] = &sections[i]
	}
	for _, id := range []SectionID{TypeSection, ImportSection, FunctionSection, MemorySection, ElementSection, CodeSection, DataSection} {
		if at[id] == nil {
			return nil, fmt.Errorf("the module has no section %d", id)
		}
	}
	if at[StartSection] != nil {
		return nil, errors.New("the module has a start function already")
	}
	pieces, err := readData(at[DataSection].Body)
	if err != nil {
		return nil, err
	}
	begin, image := imageOf(pieces)
	packed := compress(image)
	address, memory, err := room(at[MemorySection].Body, begin+len(image), len(packed))
	if err != nil {
		return nil, err
	}
	at[MemorySection].Body = memory
	at[DataSection].Body = dataOf(piece{address, packed})

	imported, err := importedFunctions(at[ImportSection].Body)
	if err != nil {
		return nil, err
	}
	types, err := split(at[TypeSection].Body)
	if err != nil {
		return nil, err
	}
	functions, err := split(at[FunctionSection].Body)
	if err != nil {
		return nil, err
	}
	code, err := split(at[CodeSection].Body)
	if err != nil {
		return nil, err
	}
	index := imported + functions.n
	at[TypeSection].Body = types.with([]byte{0x60, 0, 0}) // takes nothing, returns nothing
	at[FunctionSection].Body = functions.with(binary.AppendUvarint(nil, types.n))
	at[CodeSection].Body = code.with(unpacker(address, address+len(packed), begin))

	var out []Section
	for _, s := range sections {
		if s.ID == ElementSection {
			out = append(out, Section{StartSection, binary.AppendUvarint(nil, index)})
		}
		out = append(out, s)
	}
	return Join(out), nil
}

// readData lists the pieces of a data section.
func readData(section []byte) ([]piece, error) {
	r := &Reader{B: section}
	var out []piece
	for range r.Number() {
		if kind := r.Number(); kind != 0 {
			return nil, fmt.Errorf("a piece of data of kind %d", kind)
		}
		if op := r.Byte(); op != opConst {
			return nil, fmt.Errorf("a piece of data at an address that isn't fixed (instruction %#x)", op)
		}
		address := r.signed()
		if op := r.Byte(); op != opEnd {
			return nil, fmt.Errorf("a piece of data at an address that isn't fixed (instruction %#x)", op)
		}
		b := r.Bytes(r.Number())
		if r.Err != nil {
			return nil, r.Err
		}
		if address < 0 || address > pageSize*maxPages-int64(len(b)) {
			return nil, fmt.Errorf("a piece of data at %d", address)
		}
		out = append(out, piece{int(address), b})
	}
	if len(out) == 0 {
		return nil, errors.New("the module has no data")
	}
	return out, nil
}

// imageOf is memory from the first byte that any piece has to the last.
func imageOf(pieces []piece) (begin int, image []byte) {
	begin, end := pieces[0].address, 0
	for _, p := range pieces {
		begin = min(begin, p.address)
		end = max(end, p.address+len(p.bytes))
	}
	image = make([]byte, end-begin)
	for _, p := range pieces {
		copy(image[p.address-begin:], p.bytes)
	}
	return begin, image
}

// dataOf is a data section of one piece.
func dataOf(p piece) []byte {
	out := []byte{1, 0, opConst}
	out = appendSigned(out, int64(p.address))
	out = append(out, opEnd)
	out = binary.AppendUvarint(out, uint64(len(p.bytes)))
	return append(out, p.bytes...)
}

// room finds size bytes at the end of the memory that a VM starts with, behind
// what data reaches to; memory is the section, larger where it has to be.
func room(section []byte, data, size int) (address int, memory []byte, err error) {
	r := &Reader{B: section}
	if n := r.Number(); n != 1 || r.Err != nil {
		return 0, nil, fmt.Errorf("the module has %d memories", n)
	}
	kind := r.Byte()
	if kind != 0 {
		return 0, nil, fmt.Errorf("the module bounds its memory (kind %d)", kind)
	}
	pages := r.Number()
	if r.Err != nil || pages > maxPages {
		return 0, nil, errors.New("the module's memory can't be read")
	}
	pages = max(pages, uint64((data+size+pageSize-1)/pageSize))
	return int(pages)*pageSize - size, binary.AppendUvarint([]byte{1, kind}, pages), nil
}

// importedFunctions counts the functions that a module imports.
func importedFunctions(section []byte) (uint64, error) {
	r := &Reader{B: section}
	n := r.Number()
	for range n {
		r.Text()
		r.Text()
		if kind := r.Byte(); kind != 0 {
			return 0, fmt.Errorf("an import of kind %d", kind)
		}
		r.Number()
	}
	return n, r.Err
}

// vector is a section that is a list.
type vector struct {
	n    uint64
	rest []byte
}

func split(section []byte) (vector, error) {
	r := &Reader{B: section}
	n := r.Number()
	return vector{n, r.B}, r.Err
}

// with is the section with one more item.
func (v vector) with(item []byte) []byte {
	return bytes.Join([][]byte{binary.AppendUvarint(nil, v.n+1), v.rest, item}, nil)
}
