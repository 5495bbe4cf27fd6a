package redisproto

// integers takes the next reply if it is whole and an array of integers and
// nothing else, as a script's is: in one pass, where parse and build visit each
// element several times. ok is false for everything that isn't plainly that,
// faults included: then parse says what it is.
func (d *Decoder) integers() (v Value, ok bool) {
	if d.pos != d.start || len(d.nodes) > 0 || d.body >= 0 {
		return Value{}, false // parse has begun
	}
	b := d.buf[d.pos:]
	if len(b) > d.lim.MaxBuffered {
		b = b[:d.lim.MaxBuffered]
	}
	if len(b) == 0 || b[0] != '*' {
		return Value{}, false
	}
	const most = 999 // elements, told by so many digits that no overflow is near
	n, i := 0, 1
	for ; i < len(b) && i < 4; i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int(c)
	}
	const least = 4 // bytes an element: nothing is reserved for what hasn't come
	if n == 0 || n > most || n > d.lim.MaxElems || d.lim.MaxDepth < 1 || n*least > len(b)-i {
		return Value{}, false
	}
	if cap(d.vals) <= n {
		d.vals = make([]Value, n+1+n/2)
	}
	vals := d.vals[:n+1]
	for k := 1; ; k++ {
		// The end of the line before, then this one's beginning.
		if i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
			return Value{}, false
		}
		i += 2
		if k > n {
			break
		}
		if i+1 >= len(b) || b[i] != ':' {
			return Value{}, false
		}
		i++
		negative := b[i] == '-'
		if negative {
			i++
		}
		first, u := i, int64(0)
		for end := min(len(b), first+safeDigits); i < end; i++ {
			c := b[i] - '0'
			if c > 9 {
				break
			}
			u = u*10 + int64(c)
		}
		if i == first {
			return Value{}, false
		}
		if negative {
			u = -u
		}
		e := &vals[k]
		e.Kind, e.Int, e.Str, e.Elems = Integer, u, nil, nil
	}
	d.pos += i
	d.start = d.pos
	d.begin()
	vals[0] = Value{Kind: Array, Elems: vals[1 : n+1 : n+1]}
	return vals[0], true
}
