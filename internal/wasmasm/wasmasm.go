// Package wasmasm writes WebAssembly's binary format by hand, for modules of a few
// instructions.
package wasmasm

import "encoding/binary"

// Sections.
const (
	TypeSection     = 1
	ImportSection   = 2
	FunctionSection = 3
	MemorySection   = 5
	ExportSection   = 7
	CodeSection     = 10
	DataSection     = 11
)

// Kinds of exports.
const (
	Function = 0
	Memory   = 2
)

// Instructions.
const (
	Call = 0x10
	Drop = 0x1a
)

const (
	i32    = 0x7f
	end    = 0x0b
	number = 0x41 // i32.const
)

// Module is a module of some sections.
func Module(sections ...[]byte) []byte {
	return Cat(append([][]byte{[]byte("\x00asm\x01\x00\x00\x00")}, sections...)...)
}

// Section is a section with its content.
func Section(id byte, content []byte) []byte {
	return Cat([]byte{id}, Unsigned(len(content)), content)
}

// Vec is a vector.
func Vec(items ...[]byte) []byte { return Cat(append([][]byte{Unsigned(len(items))}, items...)...) }

// Name is a name.
func Name(s string) []byte { return Cat(Unsigned(len(s)), []byte(s)) }

// Export is an export of something by its kind and index.
func Export(name string, kind, index byte) []byte { return Cat(Name(name), []byte{kind, index}) }

// Import is an imported function of a type.
func Import(module, name string, typ byte) []byte {
	return Cat(Name(module), Name(name), []byte{Function, typ})
}

// Signature is the type of a function of so many i32, which returns one or nothing.
func Signature(args int, result bool) []byte {
	b := []byte{0x60, byte(args)}
	for range args {
		b = append(b, i32)
	}
	if result {
		return append(b, 1, i32)
	}
	return append(b, 0)
}

// Body is a function's code, with so many i32 besides its arguments.
func Body(locals int, code ...[]byte) []byte {
	declared := []byte{0}
	if locals > 0 {
		declared = []byte{1, byte(locals), i32}
	}
	b := Cat(declared, Cat(code...), []byte{end})
	return Cat(Unsigned(len(b)), b)
}

// Number is the instruction for a constant.
func Number(v int) []byte { return append([]byte{number}, signed(v)...) }

// Data puts bytes into memory from an address on.
func Data(at int, b []byte) []byte {
	return Cat([]byte{0}, Number(at), []byte{end}, Unsigned(len(b)), b)
}

// Cat joins parts.
func Cat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// Unsigned is a number without a sign in LEB128.
func Unsigned(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// signed is LEB128 with a sign.
func signed(v int) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
