package local

import (
	"encoding/binary"
	"math/bits"
)

// hash is SipHash-1-3 under a secret key: callers choose what keys hold, and
// can't look for two that meet.
func hash(seed *[2]uint64, b []byte) uint64 {
	h := sip{
		seed[0] ^ 0x736f6d6570736575, seed[1] ^ 0x646f72616e646f6d,
		seed[0] ^ 0x6c7967656e657261, seed[1] ^ 0x7465646279746573,
	}
	last := uint64(len(b)) << 56
	for ; len(b) >= 8; b = b[8:] {
		h.word(binary.LittleEndian.Uint64(b))
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	h.word(last)
	h[2] ^= 0xff
	h.round()
	h.round()
	h.round()
	return h[0] ^ h[1] ^ h[2] ^ h[3]
}

type sip [4]uint64

func (h *sip) word(w uint64) {
	h[3] ^= w
	h.round()
	h[0] ^= w
}

func (h *sip) round() {
	h[0] += h[1]
	h[2] += h[3]
	h[1] = bits.RotateLeft64(h[1], 13) ^ h[0]
	h[3] = bits.RotateLeft64(h[3], 16) ^ h[2]
	h[0] = bits.RotateLeft64(h[0], 32)
	h[2] += h[1]
	h[0] += h[3]
	h[1] = bits.RotateLeft64(h[1], 17) ^ h[2]
	h[3] = bits.RotateLeft64(h[3], 21) ^ h[0]
	h[2] = bits.RotateLeft64(h[2], 32)
}
