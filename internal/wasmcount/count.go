// Package wasmcount makes a module count the instructions that it runs, for tests:
// a figure that, unlike a time, is the same on every machine.
package wasmcount

import (
	"encoding/binary"
	"errors"
	"strconv"

	"sluice/internal/wasmpack"
)

// Name is the exported 64-bit global that counts.
const Name = "instructions"

// FunctionName is the global that counts a function's own instructions, in a
// module of EachFunction. Functions count from 0, without those imported.
func FunctionName(i int) string { return Name + "_" + strconv.Itoa(i) }

// Total returns the module with one counter for all of it.
func Total(module []byte) ([]byte, error) { return rewrite(module, false) }

// EachFunction returns the module with a counter for each of its functions.
func EachFunction(module []byte) ([]byte, error) { return rewrite(module, true) }

func rewrite(module []byte, each bool) ([]byte, error) {
	sections, err := wasmpack.Sections(module)
	if err != nil {
		return nil, err
	}
	first, functions := 0, 0
	for _, s := range sections {
		r := &wasmpack.Reader{B: s.Body}
		switch s.ID {
		case wasmpack.ImportSection:
			for range r.Number() {
				r.Text()
				r.Text()
				if kind := r.Byte(); kind != 0 {
					return nil, errors.New("the module imports something other than functions")
				}
				r.Number()
			}
		case wasmpack.FunctionSection:
			functions = int(r.Number())
		case wasmpack.GlobalSection:
			first = int(r.Number())
		}
		if r.Err != nil {
			return nil, r.Err
		}
	}
	names := []string{Name}
	if each {
		names = nil
		for i := range functions {
			names = append(names, FunctionName(i))
		}
	}
	for i := range sections {
		s := &sections[i]
		switch s.ID {
		case wasmpack.GlobalSection:
			s.Body = grow(s.Body, names, func(dst []byte, _ int, _ string) []byte {
				return append(dst, 0x7e, 1, 0x42, 0, 0x0b) // a variable i64, at first 0
			})
		case wasmpack.ExportSection:
			s.Body = grow(s.Body, names, func(dst []byte, i int, name string) []byte {
				dst = binary.AppendUvarint(dst, uint64(len(name)))
				dst = append(append(dst, name...), 3)
				return binary.AppendUvarint(dst, uint64(first+i))
			})
		case wasmpack.CodeSection:
			if s.Body, err = code(s.Body, first, each); err != nil {
				return nil, err
			}
		}
	}
	return wasmpack.Join(sections), nil
}

// grow appends an entry for each name to a list.
func grow(body []byte, names []string, entry func([]byte, int, string) []byte) []byte {
	r := &wasmpack.Reader{B: body}
	out := binary.AppendUvarint(nil, r.Number()+uint64(len(names)))
	out = append(out, r.B...)
	for i, name := range names {
		out = entry(out, i, name)
	}
	return out
}

// code adds the counting to all functions.
func code(body []byte, global int, each bool) ([]byte, error) {
	r := &wasmpack.Reader{B: body}
	n := r.Number()
	out := binary.AppendUvarint(nil, n)
	for range n {
		f := &wasmpack.Reader{B: r.Bytes(r.Number())}
		whole := f.B
		for range f.Number() { // locals
			f.Number()
			f.Byte()
		}
		head := whole[:len(whole)-len(f.B)]
		counted, err := count(append([]byte(nil), head...), f, global)
		if err != nil {
			return nil, err
		}
		out = binary.AppendUvarint(out, uint64(len(counted)))
		out = append(out, counted...)
		if each {
			global++
		}
	}
	return out, r.Err
}

// count appends a function's instructions to dst. What runs in one go is counted
// at its end, before control may go elsewhere or come from there.
func count(dst []byte, r *wasmpack.Reader, global int) ([]byte, error) {
	pending := uint64(0)
	for len(r.B) > 0 && r.Err == nil {
		before := r.B
		op := r.Byte()
		if err := skipOperands(r, op); err != nil {
			return nil, err
		}
		if !marks(op) {
			pending++
		}
		if turns(op) && pending > 0 {
			dst = binary.AppendUvarint(append(dst, 0x23), uint64(global)) // global.get
			dst = appendSigned(append(dst, 0x42), pending)                // i64.const
			dst = append(dst, 0x7c, 0x24)                                 // i64.add, global.set
			dst = binary.AppendUvarint(dst, uint64(global))
			pending = 0
		}
		dst = append(dst, before[:len(before)-len(r.B)]...)
	}
	return dst, r.Err
}

// marks reports whether an instruction only structures the code. A compiler makes
// nothing of it, and Go's code is full of them.
func marks(op byte) bool {
	switch op {
	case 0x01, 0x02, 0x03, 0x0b: // nop, block, loop, end
		return true
	}
	return false
}

// turns reports whether control may leave at an instruction or arrive behind it.
func turns(op byte) bool {
	switch op {
	case 0x00, 0x03, 0x04, 0x05, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f: // unreachable, loop, if, else, end, br, br_if, br_table, return
		return true
	}
	return false
}

// appendSigned appends a positive number in the signed format.
func appendSigned(dst []byte, n uint64) []byte {
	for n >= 0x40 {
		dst = append(dst, byte(n&0x7f)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// skipOperands reads what follows an opcode in the code.
func skipOperands(r *wasmpack.Reader, op byte) error {
	switch {
	case op == 0x0e: // br_table
		for range r.Number() + 1 {
			r.Number()
		}
	case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect, loads and stores
		r.Number()
		r.Number()
	case op >= 0x02 && op <= 0x04, op == 0x0c, op == 0x0d, op == 0x10, op >= 0x20 && op <= 0x26,
		op == 0x3f, op == 0x40, op == 0x41, op == 0x42: // one number, whose sign doesn't matter here
		r.Number()
	case op == 0x43:
		r.Bytes(4)
	case op == 0x44:
		r.Bytes(8)
	case op == 0xfc:
		switch sub := r.Number(); {
		case sub <= 7: // conversions
		case sub == 8, sub == 10: // memory.init, memory.copy
			r.Number()
			r.Number()
		case sub == 11: // memory.fill
			r.Number()
		default:
			return errors.New("unknown instruction 0xfc " + strconv.FormatUint(sub, 10))
		}
	case op <= 0x01, op == 0x05, op == 0x0b, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
	default:
		return errors.New("unknown instruction " + strconv.Itoa(int(op)))
	}
	return r.Err
}
