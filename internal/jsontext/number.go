package jsontext

import "math"

// MaxWhole is the largest integer that every JSON number up to it stands for exactly:
// where numbers are doubles, 2^53+1 arrives as 2^53.
const MaxWhole = 1 << 53

// Whole is the integer that a Number stands for, however it is written: 1000, 1e3,
// 1000.0. It is false for other numbers, those beyond ±MaxWhole among them, and for
// other kinds.
func (v *Value) Whole() (int64, bool) {
	var d decimal
	if v.Kind != Number || !d.read(v.Raw) {
		return 0, false
	}
	f := d.float()
	if !(f <= MaxWhole) || f != math.Trunc(f) {
		return 0, false
	}
	n := int64(f)
	if n == MaxWhole && d.integer && v.Raw[len(v.Raw)-1] != '2' {
		return 0, false // 2^53+1 with all its digits isn't the double next to it
	}
	if d.negative {
		n = -n
	}
	return n, true
}

// Float is the double nearest to a Number; 0 for other kinds.
func (v *Value) Float() float64 {
	var d decimal
	if v.Kind != Number || !d.read(v.Raw) {
		return 0
	}
	f := d.float()
	if d.negative {
		f = -f
	}
	return f
}

// decimal is the number 0.ddd · 10^point. It becomes a double by exact arithmetic:
// the standard library's way is faster, but 16 kB longer, and few numbers of a
// configuration come here.
type decimal struct {
	digits   []byte // 0 to 9; the first isn't 0
	point    int
	negative bool
	integer  bool // neither a point nor an exponent was written
}

// maxDigits is how many digits are kept. No number halfway between two doubles has as
// many, so of the rest it only counts whether it is nothing.
const maxDigits = 800

// read takes the digits from a number's text; false if it isn't one.
func (d *decimal) read(s string) bool {
	i := 0
	if s[0] == '-' {
		d.negative = true
		i++
	}
	d.integer = true
	seen := false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && d.integer {
			d.integer = false
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		seen = true
		if d.integer {
			d.point++
		}
		switch n := len(d.digits); {
		case n == 0 && c == '0':
			d.point-- // not a digit yet: the point moves instead
		case n < maxDigits:
			d.digits = append(d.digits, c-'0')
		case n == maxDigits && c != '0':
			d.digits = append(d.digits, 1)
		}
	}
	if seen && i < len(s) && s[i]|0x20 == 'e' {
		d.integer = false
		return d.exponent(s[i+1:])
	}
	return seen && i == len(s)
}

// exponent adds what stands after an e to the point.
func (d *decimal) exponent(s string) bool {
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	e := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		if e < 1<<40 {
			e = e*10 + int(s[i]-'0')
		}
	}
	d.point += sign * e
	return s != ""
}

// float is the nearest double, of two the even one; the digits are used up.
func (d *decimal) float() float64 {
	for n := len(d.digits); n > 0 && d.digits[n-1] == 0; n-- {
		d.digits = d.digits[:n-1]
	}
	n := len(d.digits)
	if n == 0 || d.point < -330 {
		return 0
	}
	if d.point > 310 {
		return math.Inf(1)
	}
	if e := d.point - n; n <= 15 && -22 <= e && e <= 22 {
		// Both are doubles, and so are 10 and its powers: one step, rounded once.
		f, power := float64(d.whole(n)), 1.0
		for range max(e, -e) {
			power *= 10
		}
		if e < 0 {
			return f / power
		}
		return f * power
	}
	return d.scaled()
}

// whole is the number that the first digits make.
func (d *decimal) whole(digits int) uint64 {
	n := uint64(0)
	for i := range digits {
		n *= 10
		if i < len(d.digits) {
			n += uint64(d.digits[i])
		}
	}
	return n
}

// scaled finds the power of two that makes the number's whole part a double's 53 bits.
func (d *decimal) scaled() float64 {
	const (
		low  = -1074 // the exponent of the smallest doubles
		step = 27    // twos at a time: a little more than eight digits
		full = 1 << 52
	)
	exp := 0
	for d.point > 16 {
		d.divide(step)
		exp += step
	}
	for d.point < 7 && exp >= low+step {
		d.multiply(step)
		exp -= step
	}
	u := d.whole(d.point)
	for ; u < full && exp > low; u = d.whole(d.point) {
		d.multiply(1)
		exp--
	}
	for ; u >= 2*full; u = d.whole(d.point) {
		d.divide(1)
		exp++
	}
	if d.point >= 0 && d.point < len(d.digits) {
		rest := d.digits[d.point:]
		up := rest[0] > 5 || rest[0] == 5 && u&1 == 1
		for _, digit := range rest[1:] {
			up = up || rest[0] == 5 && digit != 0
		}
		if up {
			u++
		}
	}
	if u == 2*full {
		u, exp = full, exp+1
	}
	if u < full {
		return math.Float64frombits(u)
	}
	if exp > 1023-52 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(exp-low+1)<<52 | u&(full-1))
}

// multiply multiplies by 2^k.
//
//go:noinline
func (d *decimal) multiply(k int) {
	carry := uint64(0)
	for i := len(d.digits) - 1; i >= 0; i-- {
		carry += uint64(d.digits[i]) << k
		d.digits[i] = byte(carry % 10)
		carry /= 10
	}
	for ; carry > 0; carry /= 10 {
		d.digits = append(d.digits, 0)
		copy(d.digits[1:], d.digits)
		d.digits[0] = byte(carry % 10)
		d.point++
	}
}

// divide divides by 2^k; nothing is lost.
func (d *decimal) divide(k int) {
	rest := uint64(0)
	out := 0
	n := len(d.digits)
	for i := 0; i < n || rest > 0; i++ {
		rest *= 10
		if i < n {
			rest += uint64(d.digits[i])
		} else {
			d.digits = append(d.digits, 0)
		}
		digit := byte(rest >> k)
		rest &= 1<<k - 1
		if out == 0 && digit == 0 {
			d.point--
			continue
		}
		d.digits[out] = digit
		out++
	}
	d.digits = d.digits[:out]
}
