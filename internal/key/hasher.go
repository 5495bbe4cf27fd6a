package key

import (
	"unsafe"

	"sluice/internal/digest"
)

// Hasher replaces values by HMAC-SHA-256, so that who reads Redis learns none
// and, without the secret, can't try out guesses either. It is not safe for
// concurrent use.
type Hasher struct {
	inner, outer [digest.BlockSize]byte // the secret, padded as HMAC says
	buf          []byte                 // reused
}

// markKeyed stands before a keyed hash.
const markKeyed = "%="

// NewHasher makes a Hasher with a secret.
func NewHasher(secret []byte) *Hasher {
	h := new(Hasher)
	h.SetSecret(secret)
	return h
}

// SetSecret changes the secret.
func (h *Hasher) SetSecret(secret []byte) {
	if len(secret) > digest.BlockSize {
		sum := digest.SHA256(secret)
		secret = sum[:]
	}
	for i := range h.inner {
		var b byte
		if i < len(secret) {
			b = secret[i]
		}
		h.inner[i], h.outer[i] = b^0x36, b^0x5c
	}
}

// maxKept is the largest buffer that a Hasher keeps between two values, bytes.
const maxKept = 4096

// sum returns the HMAC of a value.
func (h *Hasher) sum(val string) [32]byte {
	h.buf = append(append(h.buf[:0], h.inner[:]...), val...)
	in := digest.SHA256(h.buf)
	h.buf = append(append(h.buf[:0], h.outer[:]...), in[:]...)
	out := digest.SHA256(h.buf)
	if cap(h.buf) > maxKept {
		h.buf = nil
	}
	return out
}

// appendTail replaces the value that begins at at by its hash.
func (h *Hasher) appendTail(dst []byte, at int) []byte {
	tail := dst[at:]
	sum := h.sum(unsafe.String(unsafe.SliceData(tail), len(tail)))
	return appendHex(append(dst[:at], markKeyed...), sum[:16])
}

func appendHex(dst, sum []byte) []byte {
	for _, b := range sum {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}
