// Package slot says which hash slot of a Redis Cluster a key belongs to. Keys of
// one slot are on one node, and may be in one script call.
package slot

import "bytes"

// Count is how many slots a cluster has.
const Count = 16384

// Of is the key's slot, below Count: of its hash tag, the part between the first
// { and the next }, if that isn't empty, else of the whole key.
func Of(key []byte) uint16 {
	if i := bytes.IndexByte(key, '{'); i >= 0 {
		if n := bytes.IndexByte(key[i+1:], '}'); n > 0 {
			key = key[i+1 : i+1+n]
		}
	}
	return crc16(key) % Count
}

// crc16 is the checksum that Redis uses: the polynomial x^16+x^12+x^5+1, starting
// at 0, the highest bit first (CRC-16/XMODEM).
func crc16(b []byte) (crc uint16) {
	for _, c := range b {
		crc = crc<<8 ^ table[byte(crc>>8)^c]
	}
	return crc
}

// table holds the checksums of single bytes.
var table = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			high := crc & 0x8000
			crc <<= 1
			if high != 0 {
				crc ^= 0x1021
			}
		}
		t[i] = crc
	}
	return t
}()
