package redisproto

// Limits bound what a Decoder accepts, so that a peer can't make it use memory
// or stack without bound. A field that isn't positive means its default.
type Limits struct {
	MaxDepth    int // arrays inside one another; a flat array is 1; default 8
	MaxElems    int // array elements of one reply, those of inner arrays included; default 65,536
	MaxBulk     int // bytes of one string; default 1 MiB
	MaxBuffered int // bytes of one reply as sent; default 4 MiB
}

func (l Limits) withDefaults() Limits {
	set := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&l.MaxDepth, 8)
	set(&l.MaxElems, 64<<10)
	set(&l.MaxBulk, 1<<20)
	set(&l.MaxBuffered, 4<<20)
	return l
}
