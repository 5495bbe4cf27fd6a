package redisproto

// AppendArray appends the header of an array of n elements. A command is an
// array of bulk strings: its name, then its arguments.
func AppendArray(dst []byte, n int) []byte {
	return appendHeader(dst, '*', n)
}

// AppendBulk appends b as a bulk string.
func AppendBulk(dst, b []byte) []byte {
	dst = appendHeader(dst, '$', len(b))
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

// AppendBulkString appends s as a bulk string.
func AppendBulkString(dst []byte, s string) []byte {
	dst = appendHeader(dst, '$', len(s))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}

// AppendBulkInt appends n in decimal as a bulk string: commands carry their
// numbers as text.
func AppendBulkInt(dst []byte, n int64) []byte {
	if uint64(n) < 10 { // most of a script call's
		return append(dst, '$', '1', '\r', '\n', '0'+byte(n), '\r', '\n')
	}
	dst = appendHeader(dst, '$', decimalLen(n))
	dst = AppendDecimal(dst, n)
	return append(dst, '\r', '\n')
}

// AppendCommand appends a whole command.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = AppendArray(dst, len(args))
	for _, a := range args {
		dst = AppendBulkString(dst, a)
	}
	return dst
}

// appendHeader has a way of its own for the counts and lengths of commands: one
// append each.
func appendHeader(dst []byte, kind byte, n int) []byte {
	switch {
	case uint(n) < 10:
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	case uint(n) < 100:
		tens := uint(n) / 10
		return append(dst, kind, '0'+byte(tens), '0'+byte(uint(n)-tens*10), '\r', '\n')
	}
	dst = append(dst, kind)
	dst = AppendDecimal(dst, int64(n))
	return append(dst, '\r', '\n')
}

// decimalLen is how many bytes n takes in decimal, its sign included.
func decimalLen(n int64) int {
	u, size := uint64(n), 1
	if n < 0 {
		u, size = -u, 2 // -u is right for the smallest int64 too
	}
	for ; u >= 10; u /= 10 {
		size++
	}
	return size
}

// AppendDecimal appends n in decimals, as strconv.AppendInt does, which for the
// sake of other bases takes three times as many instructions.
func AppendDecimal(dst []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	if u < 10 {
		return append(dst, '0'+byte(u))
	}
	var digits [20]byte
	i := len(digits)
	for u >= 10 {
		q := u / 100
		two := tens[2*(u-q*100):]
		i -= 2
		digits[i], digits[i+1] = two[0], two[1]
		u = q
	}
	if u > 0 {
		i--
		digits[i] = '0' + byte(u)
	}
	return append(dst, digits[i:]...)
}

// tens are the numbers below 100, of two digits each: a division for two digits
// is cheaper than one for each.
const tens = "" +
	"00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"
