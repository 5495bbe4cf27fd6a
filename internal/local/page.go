package local

import "encoding/binary"

// A page is one value of the shared data: a byte that says its format, then
// records one after another. A record is
//
//	length of all of it      2 bytes
//	hash of its key          8
//	algorithm                1   limit.ShareCode; sharedBit for a shared counter
//	end                      6   ms since the epoch: dead from then on
//	length of the state      2
//	state                        limit.Share.AppendState
//	account                      units to charge in Redis, how many arguments
//	                             the charge has and these, all varints, then
//	                             the key; nothing where none are to be charged
//
// Numbers are little-endian.
const (
	pageFormat = 1
	headLen    = 19
	sharedBit  = 0x80

	// maxPage is a page's largest length, bytes. With what the proxy adds to it, a
	// name and a node of a hash table, it takes at most pageCost bytes.
	maxPage  = 1791
	pageCost = 2048
	// seatsEnd is up to where counters that are new to a page fill it: what is
	// behind is for those that grow and for shared ones.
	seatsEnd = maxPage - 320
)

// record is a part of a page; no copy.
type record struct {
	at, end int // in the page
	hash    uint64
	code    byte
	ends    int64 // ms
	state   []byte
	account []byte
}

// readRecord reads the record at at; false when the page is malformed.
func readRecord(page []byte, at int) (r record, ok bool) {
	b := page[at:]
	if len(b) < headLen {
		return r, false
	}
	n := int(binary.LittleEndian.Uint16(b))
	state := int(binary.LittleEndian.Uint16(b[17:]))
	if n > len(b) || headLen+state > n {
		return r, false
	}
	return record{
		at:      at,
		end:     at + n,
		hash:    binary.LittleEndian.Uint64(b[2:]),
		code:    b[10],
		ends:    int64(binary.LittleEndian.Uint64(b[9:]) >> 16),
		state:   b[headLen : headLen+state],
		account: b[headLen+state : n],
	}, true
}

// sound reports whether a page can be read to its end.
func sound(page []byte) bool {
	if len(page) == 0 {
		return true
	}
	if page[0] != pageFormat || len(page) > maxPage {
		return false
	}
	for at := 1; at < len(page); {
		r, ok := readRecord(page, at)
		if !ok {
			return false
		}
		at = r.end
	}
	return true
}

// find finds a counter that is alive in a sound page.
func find(page []byte, hash uint64, code byte, ms int64) (record, bool) {
	for at := 1; at < len(page); {
		b := page[at:]
		if binary.LittleEndian.Uint64(b[2:]) == hash && b[10] == code {
			if r, ok := readRecord(page, at); ok && r.ends > ms {
				return r, true
			}
		}
		at += int(binary.LittleEndian.Uint16(b))
	}
	return record{}, false
}

// copyLive begins a page in dst with the records of a sound page that are alive,
// except the one at skip.
func copyLive(dst, page []byte, ms int64, skip int) []byte {
	dst = append(dst, pageFormat)
	for at := 1; at < len(page); {
		b := page[at:]
		n := int(binary.LittleEndian.Uint16(b))
		if ends := int64(binary.LittleEndian.Uint64(b[9:]) >> 16); ends > ms && at != skip {
			dst = append(dst, b[:n]...)
		}
		at += n
	}
	return dst
}

// maxEnds is the latest end that a record can hold, ms.
const maxEnds = 1<<48 - 1

// appendRecord appends a record; its parts together are shorter than 2^16 bytes.
func appendRecord(dst []byte, hash uint64, code byte, ends int64, state, account []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(headLen+len(state)+len(account)))
	dst = binary.LittleEndian.AppendUint64(dst, hash)
	ends = min(ends, maxEnds)
	dst = append(dst, code, byte(ends), byte(ends>>8), byte(ends>>16), byte(ends>>24), byte(ends>>32), byte(ends>>40))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(state)))
	dst = append(dst, state...)
	return append(dst, account...)
}

// account is what of a counter is to be charged in Redis.
type account struct {
	units int64
	args  []byte // how many there are, and they
	key   []byte
}

// readAccount reads a record's account; units is 0 where there is none.
func readAccount(b []byte) (a account) {
	units, n := binary.Uvarint(b)
	if n <= 0 || units == 0 || units > maxUnits {
		return a
	}
	rest := b[n:]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > maxArgs {
		return a
	}
	at := n
	for range count {
		_, n := binary.Uvarint(rest[at:])
		if n <= 0 {
			return a
		}
		at += n
	}
	return account{units: int64(units), args: rest[:at], key: rest[at:]}
}

// numbers appends the arguments to dst.
func (a *account) numbers(dst []int64) []int64 {
	count, at := binary.Uvarint(a.args)
	for range count {
		v, n := binary.Uvarint(a.args[at:])
		dst = append(dst, int64(v))
		at += n
	}
	return dst
}

const (
	maxUnits = 1 << 53
	maxArgs  = 16
	// maxKey is the longest key that is kept for its account, bytes.
	maxKey = 255
)
