package wasmpack

import "encoding/binary"

// Instructions of wasm.
const (
	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opElse      = 0x05
	opEnd       = 0x0b
	opBr        = 0x0c
	opBrIf      = 0x0d
	opGet       = 0x20
	opSet       = 0x21
	opTee       = 0x22
	opLoad8     = 0x2d // i32.load8_u
	opStore8    = 0x3a
	opConst     = 0x41
	opEqual     = 0x46
	opLessU     = 0x49
	opAtLeastU  = 0x4f
	opAdd       = 0x6a
	opSub       = 0x6b
	opAnd       = 0x71
	opOr        = 0x72
	opShiftLeft = 0x74
	opShiftU    = 0x76
	opBulk      = 0xfc // before opCopy and opFill
	opCopy      = 0x0a // memory.copy
	opFill      = 0x0b // memory.fill

	noResult = 0x40
	typeI32  = 0x7f
)

// Locals of the function.
const (
	src    = iota // where the next byte is read
	dst           // where the next byte is written
	step          // a step's first byte
	count         // bytes to copy
	back          // how far back a copy begins
	bits          // a number that is being read: its shift,
	digit         // its last byte,
	number        // and what was read
	locals
)

// body is a function that is being written.
type body struct{ b []byte }

func (f *body) op(ops ...byte)         { f.b = append(f.b, ops...) }
func (f *body) get(local byte)         { f.op(opGet, local) }
func (f *body) set(local byte)         { f.op(opSet, local) }
func (f *body) value(n int)            { f.b = appendSigned(append(f.b, opConst), int64(int32(n))) }
func (f *body) load(address byte)      { f.get(address); f.op(opLoad8, 0, 0) }
func (f *body) plus(local byte, n int) { f.get(local); f.value(n); f.op(opAdd); f.set(local) }

// readNumber reads the number at src into a local, which it adds to.
func (f *body) readNumber(into byte) {
	f.value(0)
	f.set(bits)
	f.value(0)
	f.set(number)
	f.op(opLoop, noResult)
	f.load(src)
	f.set(digit)
	f.plus(src, 1)
	f.get(digit)
	f.value(0x7f)
	f.op(opAnd)
	f.get(bits)
	f.op(opShiftLeft)
	f.get(number)
	f.op(opOr)
	f.set(number)
	f.plus(bits, 7)
	f.get(digit)
	f.value(0x80)
	f.op(opAtLeastU, opBrIf, 0, opEnd)
	f.get(into)
	f.get(number)
	f.op(opAdd)
	f.set(into)
}

// readCount puts a half of step into count, with what is added to a full one.
func (f *body) readCount(shift int) {
	f.get(step)
	if shift > 0 {
		f.value(shift)
		f.op(opShiftU)
	} else {
		f.value(half)
		f.op(opAnd)
	}
	f.op(opTee, count)
	f.value(half)
	f.op(opEqual, opIf, noResult)
	f.readNumber(count)
	f.op(opEnd)
}

// unpacker is the code of a function that unpacks what lies from packed to end
// to where to says, and leaves zeros there.
func unpacker(packed, end, to int) []byte {
	f := &body{}
	f.value(packed)
	f.set(src)
	f.value(to)
	f.set(dst)
	f.op(opBlock, noResult, opLoop, noResult)
	f.load(src)
	f.set(step)
	f.plus(src, 1)

	f.readCount(4)
	f.get(dst)
	f.get(src)
	f.get(count)
	f.op(opBulk, opCopy, 0, 0)
	for _, local := range []byte{src, dst} {
		f.get(local)
		f.get(count)
		f.op(opAdd)
		f.set(local)
	}
	f.get(src)
	f.value(end)
	f.op(opAtLeastU, opBrIf, 1)

	f.readCount(0)
	f.plus(count, minMatch)
	f.value(0)
	f.set(back)
	f.readNumber(back)
	f.get(back)
	f.get(count)
	f.op(opLessU, opIf, noResult)
	// The copy reads what it writes: byte by byte.
	f.op(opLoop, noResult)
	f.get(dst)
	f.get(dst)
	f.get(back)
	f.op(opSub, opLoad8, 0, 0, opStore8, 0, 0)
	f.plus(dst, 1)
	f.get(count)
	f.value(1)
	f.op(opSub, opTee, count, opBrIf, 0, opEnd)
	f.op(opElse)
	f.get(dst)
	f.get(dst)
	f.get(back)
	f.op(opSub)
	f.get(count)
	f.op(opBulk, opCopy, 0, 0)
	f.get(dst)
	f.get(count)
	f.op(opAdd)
	f.set(dst)
	f.op(opEnd)
	f.op(opBr, 0, opEnd, opEnd)

	f.value(packed)
	f.value(0)
	f.value(end - packed)
	f.op(opBulk, opFill, 0)
	f.op(opEnd)
	declared := []byte{1, locals, typeI32}
	out := binary.AppendUvarint(nil, uint64(len(declared)+len(f.b)))
	return append(append(out, declared...), f.b...)
}
