// Package tinywasm writes the smallest proxy-wasm modules that do something, by
// hand: what a wasm filter costs at least, whatever language it is written in.
package tinywasm

import "encoding/binary"

// Sections and types of WebAssembly's binary format.
const (
	typeSection     = 1
	importSection   = 2
	functionSection = 3
	memorySection   = 5
	exportSection   = 7
	codeSection     = 10
	dataSection     = 11
	i32             = 0x7f
)

// Instructions.
const (
	opCall     = 0x10
	opDrop     = 0x1a
	opI32Const = 0x41
	opEnd      = 0x0b
)

// What a callback tells the proxy.
const (
	actionContinue = 0
	actionPause    = 1
)

// Module is a module with two callbacks. With status 0 it lets every request go
// on; else it answers each with that status, no header of its own and no body.
func Module(status int) []byte {
	// Types: 0 (8 × i32) → i32, 1 () → (), 2 (i32 i32) → (), 3 (i32 i32 i32) → i32,
	// 4 (i32) → i32.
	types := section(typeSection, vec(
		signature(8, true), signature(0, false), signature(2, false), signature(3, true), signature(1, true)))
	imports := section(importSection, vec(
		cat(name("env"), name("proxy_send_local_response"), []byte{0, 0})))
	functions := section(functionSection, vec([]byte{1}, []byte{2}, []byte{3}, []byte{4}))
	memory := section(memorySection, vec([]byte{0, 1}))
	export := func(text string, kind, index byte) []byte { return cat(name(text), []byte{kind, index}) }
	exports := section(exportSection, vec(
		export("memory", 2, 0),
		export("proxy_abi_version_0_2_1", 0, 1),
		export("proxy_on_context_create", 0, 2),
		export("proxy_on_request_headers", 0, 3),
		export("proxy_on_memory_allocate", 0, 4),
	))
	code := section(codeSection, vec(
		body(),
		body(),
		body(onRequest(status)...),
		body(constant(1024)...), // nothing that is sent here is looked at
	))
	return cat([]byte("\x00asm\x01\x00\x00\x00"), types, imports, functions, memory, exports, code)
}

func onRequest(status int) []byte {
	if status == 0 {
		return constant(actionContinue)
	}
	return cat(
		constant(status),
		constant(0), constant(0), // details
		constant(0), constant(0), // body
		constant(0), constant(0), // headers
		constant(-1), // gRPC status: none
		[]byte{opCall, 0, opDrop},
		constant(actionPause))
}

func constant(v int) []byte { return append([]byte{opI32Const}, signed(v)...) }

func signature(args int, result bool) []byte {
	b := []byte{0x60, byte(args)}
	for range args {
		b = append(b, i32)
	}
	if result {
		return append(b, 1, i32)
	}
	return append(b, 0)
}

// body is a function without locals.
func body(code ...byte) []byte {
	b := cat([]byte{0}, code, []byte{opEnd})
	return cat(unsigned(len(b)), b)
}

func section(id byte, content []byte) []byte { return cat([]byte{id}, unsigned(len(content)), content) }

func vec(items ...[]byte) []byte { return cat(append([][]byte{unsigned(len(items))}, items...)...) }

func name(s string) []byte { return cat(unsigned(len(s)), []byte(s)) }

func cat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func unsigned(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

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
