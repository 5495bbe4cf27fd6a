// Package digest computes SHA-1 and SHA-256. The standard library's bring
// checks of its own for certified builds along, and with them AES, SHA-3 and
// more: 200 kB of code in a module that needs two sums.
package digest

import (
	"encoding/binary"
	"math/bits"
)

// BlockSize is how many bytes both sums take at once.
const BlockSize = 64

// end is what is added up after data's whole blocks: the rest of data, a one,
// then zeros, then how many bits data has. It is written to buf.
func end(buf *[2 * BlockSize]byte, data []byte) []byte {
	n := copy(buf[:], data[len(data)/BlockSize*BlockSize:])
	buf[n] = 0x80
	size := BlockSize
	if n+1+8 > size {
		size = 2 * BlockSize
	}
	binary.BigEndian.PutUint64(buf[size-8:], uint64(len(data))*8)
	return buf[:size]
}

// SHA1 is the sum by which Redis knows a script. It protects nothing.
func SHA1(data []byte) (sum [20]byte) {
	h := [5]uint32{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}
	var buf [2 * BlockSize]byte
	addSHA1(&h, data)
	addSHA1(&h, end(&buf, data))
	for i, x := range h {
		binary.BigEndian.PutUint32(sum[4*i:], x)
	}
	return sum
}

// addSHA1 adds up the whole blocks of data.
func addSHA1(h *[5]uint32, data []byte) {
	var w [80]uint32
	for ; len(data) >= BlockSize; data = data[BlockSize:] {
		for i := range 16 {
			w[i] = binary.BigEndian.Uint32(data[4*i:])
		}
		for i := 16; i < 80; i++ {
			w[i] = bits.RotateLeft32(w[i-3]^w[i-8]^w[i-14]^w[i-16], 1)
		}
		a, b, c, d, e := h[0], h[1], h[2], h[3], h[4]
		for i, x := range &w {
			var f, k uint32
			switch i / 20 {
			case 0:
				f, k = b&c|^b&d, 0x5a827999
			case 1:
				f, k = b^c^d, 0x6ed9eba1
			case 2:
				f, k = b&c|b&d|c&d, 0x8f1bbcdc
			default:
				f, k = b^c^d, 0xca62c1d6
			}
			a, b, c, d, e = bits.RotateLeft32(a, 5)+f+e+k+x, a, bits.RotateLeft32(b, 30), c, d
		}
		h[0] += a
		h[1] += b
		h[2] += c
		h[3] += d
		h[4] += e
	}
}

// rounds are the first 32 bits of the fractions of the cube roots of the first 64
// primes.
var rounds = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// SHA256 is the sum that keyed hashes are made of.
func SHA256(data []byte) (sum [32]byte) {
	// Likewise of the square roots of the first eight.
	h := [8]uint32{
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	}
	var buf [2 * BlockSize]byte
	addSHA256(&h, data)
	addSHA256(&h, end(&buf, data))
	for i, x := range h {
		binary.BigEndian.PutUint32(sum[4*i:], x)
	}
	return sum
}

// addSHA256 adds up the whole blocks of data.
func addSHA256(h *[8]uint32, data []byte) {
	var w [64]uint32
	for ; len(data) >= BlockSize; data = data[BlockSize:] {
		for i := range 16 {
			w[i] = binary.BigEndian.Uint32(data[4*i:])
		}
		for i := 16; i < 64; i++ {
			x, y := w[i-15], w[i-2]
			w[i] = w[i-16] + w[i-7] +
				(bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3) +
				(bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10)
		}
		a, b, c, d, e, f, g, z := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
		for i, x := range &w {
			t := z + x + rounds[i] + (e&f ^ ^e&g) +
				(bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25))
			u := (a&b ^ a&c ^ b&c) +
				(bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22))
			z, g, f, e, d, c, b, a = g, f, e, d+t, c, b, a, t+u
		}
		h[0] += a
		h[1] += b
		h[2] += c
		h[3] += d
		h[4] += e
		h[5] += f
		h[6] += g
		h[7] += z
	}
}
