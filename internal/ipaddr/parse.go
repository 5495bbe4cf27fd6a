package ipaddr

import "strings"

// Parse reads an address. zoned says that it had a zone, which is dropped.
func Parse(s string) (a Addr, zoned, ok bool) {
	colon := strings.IndexByte(s, ':')
	if colon < 0 {
		v, ok := parse4(s)
		if !ok {
			return Addr{}, false, false
		}
		return Addr{hi: uint64(v) << 32, len: 32}, false, true
	}
	if i := strings.IndexByte(s, '%'); i >= 0 {
		if i+1 == len(s) {
			return Addr{}, false, false
		}
		s, zoned = s[:i], true
	}
	a, ok = parse6(s)
	return a, zoned, ok
}

// parse4 reads four numbers with dots between.
func parse4(s string) (v uint32, ok bool) {
	for i := range 4 {
		n, digits := uint32(0), 0
		for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' && digits < 3 {
			n = n*10 + uint32(s[digits]-'0')
			digits++
		}
		if digits == 0 || n > 255 || digits > 1 && s[0] == '0' {
			return 0, false
		}
		v = v<<8 | n
		s = s[digits:]
		if i == 3 {
			break
		}
		if s == "" || s[0] != '.' {
			return 0, false
		}
		s = s[1:]
	}
	return v, s == ""
}

// parse6 reads an IPv6 address.
func parse6(s string) (Addr, bool) {
	var groups [8]uint16
	n, gap := 0, -1 // groups read; where :: stands
	if strings.HasPrefix(s, "::") {
		gap = 0
		s = s[2:]
	}
	for s != "" {
		if n == 8 {
			return Addr{}, false
		}
		v, digits := uint32(0), 0
		for digits < len(s) && digits < 5 {
			d := hexDigit(s[digits])
			if d < 0 {
				break
			}
			v = v<<4 | uint32(d)
			digits++
		}
		if digits == 0 || digits > 4 {
			return Addr{}, false
		}
		if digits < len(s) && s[digits] == '.' {
			// The last two groups as IPv4.
			v4, ok := parse4(s)
			if !ok || n > 6 || gap < 0 && n != 6 {
				return Addr{}, false
			}
			groups[n], groups[n+1] = uint16(v4>>16), uint16(v4)
			n += 2
			break
		}
		groups[n] = uint16(v)
		n++
		if s = s[digits:]; s == "" {
			break
		}
		if s[0] != ':' || len(s) == 1 {
			return Addr{}, false
		}
		if s = s[1:]; s[0] == ':' {
			if gap >= 0 {
				return Addr{}, false
			}
			gap = n
			s = s[1:]
		}
	}
	switch {
	case n == 8 && gap < 0:
	case n < 8 && gap >= 0:
		copy(groups[8-(n-gap):], groups[gap:n])
		clear(groups[gap : 8-(n-gap)])
	default:
		return Addr{}, false
	}
	a := Addr{len: 128}
	for i := range 4 {
		a.hi = a.hi<<16 | uint64(groups[i])
		a.lo = a.lo<<16 | uint64(groups[i+4])
	}
	return a, true
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// ParsePrefix reads an address without a zone, a slash and a number of bits.
func ParsePrefix(s string) (Prefix, bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return Prefix{}, false
	}
	a, zoned, ok := Parse(s[:i])
	digits := s[i+1:]
	n, number := number(digits, 128)
	if !ok || zoned || !number || n > a.BitLen() || len(digits) > 1 && digits[0] == '0' {
		return Prefix{}, false
	}
	return Prefix{a, n}, true
}

// ParseAddrPort reads an address and a port: 1.2.3.4:80, [::1]:80.
func ParseAddrPort(s string) (a Addr, port uint16, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return Addr{}, 0, false
	}
	ip := s[:i]
	n, ok := number(s[i+1:], 65535)
	if !ok {
		return Addr{}, 0, false
	}
	inner, bracketed := strings.CutPrefix(ip, "[")
	if bracketed {
		if ip, ok = strings.CutSuffix(inner, "]"); !ok {
			return Addr{}, 0, false
		}
	}
	a, _, ok = Parse(ip)
	if !ok || bracketed == a.Is4() {
		return Addr{}, 0, false
	}
	return a, uint16(n), true
}

// number reads digits.
func number(s string, most int) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n = n*10 + int(s[i]-'0'); n > most {
			return 0, false
		}
	}
	return n, s != ""
}
