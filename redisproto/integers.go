package redisproto

// integers takes the next reply if it is whole and an array of integers and
// nothing else, as a script's is, or an array of such arrays, as of one that several
// requests share: in one pass, where parse and build visit each element several
// times. ok is false for everything that isn't plainly that, faults included: then
// parse says what it is.
func (d *Decoder) integers() (v Value, ok bool) {
	if d.pos != d.start || len(d.nodes) > 0 || d.body >= 0 {
		return Value{}, false // parse has begun
	}
	b := d.buf[d.pos:]
	if len(b) > d.lim.MaxBuffered {
		b = b[:d.lim.MaxBuffered]
	}
	n, i := arrayLength(b, 0)
	if n == 0 || n > d.lim.MaxElems || d.lim.MaxDepth < 1 {
		return Value{}, false
	}
	all := 1 + n
	d.reserve(all, 0)
	if b[i+2] == '*' {
		if d.lim.MaxDepth < 2 {
			return Value{}, false
		}
		// An inner array is noted by its length, until all have their places.
		for k := range n {
			if i+2 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
				return Value{}, false
			}
			m, end := arrayLength(b, i+2)
			if m == 0 || all-1+m > d.lim.MaxElems {
				return Value{}, false
			}
			d.reserve(all+m, all)
			if i = integersInto(d.vals[all:all+m], b, end); i < 0 {
				return Value{}, false
			}
			d.vals[1+k] = Value{Kind: Array, Int: int64(m)}
			all += m
		}
		at := 1 + n
		for k := 1; k <= n; k++ {
			e := &d.vals[k]
			m := int(e.Int)
			e.Int, e.Elems = 0, d.vals[at:at+m:at+m]
			at += m
		}
	} else if i = integersInto(d.vals[1:all], b, i); i < 0 {
		return Value{}, false
	}
	if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return Value{}, false
	}
	d.pos += i + 2
	d.start = d.pos
	d.begin()
	d.vals[0] = Value{Kind: Array, Elems: d.vals[1 : n+1 : n+1]}
	return d.vals[0], true
}

// reserve makes room for so many values, and keeps the first ones.
func (d *Decoder) reserve(n, keep int) {
	if cap(d.vals) >= n {
		d.vals = d.vals[:cap(d.vals)]
		return
	}
	more := make([]Value, n+n/2)
	copy(more, d.vals[:keep])
	d.vals = more
}

// arrayLength reads an array's header at b[i] up to the end of its number. n is 0 for
// what isn't one of 1 to 999 elements that b may hold: nothing is reserved for what
// hasn't come.
func arrayLength(b []byte, i int) (n, end int) {
	if i >= len(b) || b[i] != '*' {
		return 0, i
	}
	i++
	for stop := min(len(b), i+3); i < stop; i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int(c)
	}
	const least = 4 // bytes an element
	if n*least > len(b)-i {
		return 0, i
	}
	return n, i
}

// integersInto fills vals from b, where i is the end of the line before. It returns
// where the last one ends, before its line's end, or -1 for what isn't plainly so many
// integers.
func integersInto(vals []Value, b []byte, i int) int {
	for k := range vals {
		// The end of the line before, then this one's beginning.
		if i+3 >= len(b) || b[i] != '\r' || b[i+1] != '\n' || b[i+2] != ':' {
			return -1
		}
		i += 3
		negative := b[i] == '-'
		if negative {
			i++
		}
		digits := b[i:]
		if len(digits) > safeDigits {
			digits = digits[:safeDigits]
		}
		u, n := int64(0), 0
		for _, c := range digits {
			c -= '0'
			if c > 9 {
				break
			}
			u = u*10 + int64(c)
			n++
		}
		if n == 0 {
			return -1
		}
		i += n
		if negative {
			u = -u
		}
		e := &vals[k]
		e.Kind, e.Int, e.Str, e.Elems = Integer, u, nil, nil
	}
	return i
}
