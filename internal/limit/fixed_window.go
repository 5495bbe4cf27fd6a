package limit

// FixedWindow counts in windows that start at multiples of their length. It is
// the cheapest, and lets up to twice the limit through around a window's edge.
var FixedWindow = &Algorithm{
	Name:   "fixed_window",
	Script: "fixed_window",
	Suffix: "fix1",
	Code:   4,
	share:  windowShare,
	Args:   limitAndWindow,
	NArgs:  2,
	New:    func(p Params) Model { return &period{p: p, bounds: windowBounds} },
	Check:  checkRate,
	Doc:    "never more than N in a window that starts at a multiple of its length; up to 2 N around a window's edge",
}

func windowBounds(p *Params, now Micros) (start, stop int64) {
	ms := floorDiv(now, 1000)
	start = ms - ms%p.WindowMS
	return start, start + p.WindowMS
}
