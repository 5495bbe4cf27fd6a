// Package ipaddr has the few things that the plugin does with IP addresses, under
// the names of the standard library's net/netip. That one keeps the zones of
// addresses in a table of its own with weak pointers: 80 kB of code in the module,
// for names that mean nothing to a limit.
package ipaddr

import (
	"math/bits"
	"strconv"
)

// Addr is an address, IPv4 or IPv6, without a zone. The zero Addr is none. Equal
// addresses are ==.
type Addr struct {
	hi, lo uint64 // its bits from the highest of hi on
	len    uint8  // how many: 32 or 128; 0 for none
}

// Bits returns the address's bits, from the highest of hi on.
func (a Addr) Bits() (hi, lo uint64) { return a.hi, a.lo }

// BitLen is 32 or 128, or 0 for the zero Addr.
func (a Addr) BitLen() int { return int(a.len) }

// IsValid reports whether a isn't the zero Addr.
func (a Addr) IsValid() bool { return a.len != 0 }

// Is4 reports whether a is an IPv4 address.
func (a Addr) Is4() bool { return a.len == 32 }

// Is4In6 reports whether a is an IPv4 address in IPv6: ::ffff:1.2.3.4.
func (a Addr) Is4In6() bool { return a.len == 128 && a.hi == 0 && a.lo>>32 == 0xffff }

// Unmap returns the IPv4 address where a is one in IPv6.
func (a Addr) Unmap() Addr {
	if a.Is4In6() {
		return Addr{hi: a.lo << 32, len: 32}
	}
	return a
}

// IsLoopback reports whether a is the machine's own: 127.0.0.0/8 or ::1.
func (a Addr) IsLoopback() bool {
	if a.Is4In6() {
		a = a.Unmap()
	}
	return a.len == 32 && a.hi>>56 == 127 || a.len == 128 && a.hi == 0 && a.lo == 1
}

// From4 makes an IPv4 address.
func From4(b [4]byte) Addr {
	return Addr{hi: (uint64(b[0])<<24 | uint64(b[1])<<16 | uint64(b[2])<<8 | uint64(b[3])) << 32, len: 32}
}

// From16 makes an IPv6 address.
func From16(b [16]byte) Addr {
	a := Addr{len: 128}
	for i := range 8 {
		a.hi = a.hi<<8 | uint64(b[i])
		a.lo = a.lo<<8 | uint64(b[i+8])
	}
	return a
}

// Prefix is the network of so many bits that a is in. It returns false when a
// doesn't have so many.
func (a Addr) Prefix(n int) (Prefix, bool) {
	if n < 0 || n > a.BitLen() || !a.IsValid() {
		return Prefix{}, false
	}
	return Prefix{a, n}.Masked(), true
}

func (a Addr) String() string {
	if !a.IsValid() {
		return "invalid IP"
	}
	var buf [48]byte
	return string(a.AppendTo(buf[:0]))
}

// AppendTo appends the address as text: as RFC 5952 writes it.
func (a Addr) AppendTo(dst []byte) []byte {
	switch {
	case a.Is4():
		return append4(dst, uint32(a.hi>>32))
	case a.Is4In6():
		return append4(append(dst, "::ffff:"...), uint32(a.lo))
	case !a.IsValid():
		return dst
	}
	// The longest run of two or more zero groups is ::, the first of equals.
	from, till := 8, 8
	for i := 0; i < 8; i++ {
		j := i
		for j < 8 && a.group(j) == 0 {
			j++
		}
		if j-i >= 2 && j-i > till-from {
			from, till = i, j
		}
		i = max(i, j-1)
	}
	for i := 0; i < 8; i++ {
		if i == from {
			dst = append(dst, "::"...)
			i = till
			if i == 8 {
				break
			}
		} else if i > 0 {
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, uint64(a.group(i)), 16)
	}
	return dst
}

// group is the i-th 16 bits of an IPv6 address.
func (a Addr) group(i int) uint16 {
	if i < 4 {
		return uint16(a.hi >> (48 - 16*i))
	}
	return uint16(a.lo >> (112 - 16*i))
}

func append4(dst []byte, v uint32) []byte {
	for shift := 24; shift >= 0; shift -= 8 {
		dst = strconv.AppendUint(dst, uint64(v>>shift&0xff), 10)
		if shift > 0 {
			dst = append(dst, '.')
		}
	}
	return dst
}

// Prefix is a network: an address and how many of its first bits count. Equal
// ones are ==.
type Prefix struct {
	addr Addr
	bits int
}

// PrefixFrom is the network of an address and so many bits, at most its own.
func PrefixFrom(a Addr, n int) Prefix { return Prefix{a, n} }

// Addr is the address that the network was given with.
func (p Prefix) Addr() Addr { return p.addr }

// Bits is how many bits count.
func (p Prefix) Bits() int { return p.bits }

// Masked is the network with its first address.
func (p Prefix) Masked() Prefix {
	switch n := p.bits; {
	case n < 64:
		p.addr.hi &= ^(^uint64(0) >> n)
		p.addr.lo = 0
	case n < 128:
		p.addr.lo &= ^(^uint64(0) >> (n - 64))
	}
	return p
}

// Contains reports whether an address is in the network.
func (p Prefix) Contains(a Addr) bool {
	if a.len != p.addr.len || a.len == 0 {
		return false
	}
	same := bits.LeadingZeros64(a.hi ^ p.addr.hi)
	if same == 64 {
		same += bits.LeadingZeros64(a.lo ^ p.addr.lo)
	}
	return same >= p.bits
}

func (p Prefix) String() string {
	var buf [52]byte
	return string(p.AppendTo(buf[:0]))
}

// AppendTo appends the network as text.
func (p Prefix) AppendTo(dst []byte) []byte {
	dst = append(p.addr.AppendTo(dst), '/')
	return strconv.AppendInt(dst, int64(p.bits), 10)
}
