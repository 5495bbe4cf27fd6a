// Package zone finds time zones by their IANA names. It carries what the whole
// time zone database says about the years from 2000 on, in a form of its own: a
// proxy's module has no file system, and the database itself is 400 kB of memory
// in every worker.
package zone

//go:generate go run ./gen

import (
	"errors"
	"strconv"

	"sluice/internal/limit"
)

// Base is where times in the database count from: 2000-01-01 UTC, Unix seconds.
// What clocks did before is not in it.
const Base = 946684800

// Load finds a zone, as Europe/Berlin or UTC. The machine's own zone ("Local")
// isn't one: it would make gateways disagree.
func Load(name string) (*limit.Zone, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("a time zone is an IANA name such as Europe/Berlin or UTC")
	}
	r := reader{database}
	clock := r.find(name)
	if clock < 0 {
		return nil, errors.New("unknown time zone " + strconv.Quote(name))
	}
	for range clock {
		r.text()
	}
	z := reader{r.text()}.decode()
	z.Name = name
	return z, nil
}

// reader reads the database, which is as gen wrote it: a test reads all of it.
type reader struct{ s string }

func (r *reader) number() int64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := r.s[0]
		r.s = r.s[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(n>>1) ^ -int64(n&1)
		}
	}
}

func (r *reader) text() string {
	n := r.number()
	out := r.s[:n]
	r.s = r.s[n:]
	return out
}

// find returns which clock a zone has, or -1, and leaves r before the clocks.
func (r *reader) find(name string) int64 {
	clock := int64(-1)
	var is []byte
	for range r.number() {
		is = append(is[:r.number()], r.text()...)
		if c := r.number(); string(is) == name {
			clock = c
		}
	}
	return clock
}

// decode reads a clock: how many changes it has; what it is from UTC at first,
// quarters of an hour; each change, as minutes after the one before, and what it
// is from then on; then, where the years after go by a rule, that.
func (r reader) decode() *limit.Zone {
	const minute, quarter = 60, 900
	n := r.number()
	z := &limit.Zone{
		Changes: make([]int64, 0, n),
		Offsets: append(make([]int64, 0, n+1), r.number()*quarter),
	}
	at := int64(Base)
	for range n {
		at += r.number() * minute
		z.Changes = append(z.Changes, at)
		z.Offsets = append(z.Offsets, r.number()*quarter)
	}
	if r.s != "" {
		z.Yearly = &limit.Yearly{Standard: r.number() * quarter, Saving: r.number() * quarter, Forth: r.rule(), Back: r.rule()}
	}
	return z
}

func (r *reader) rule() limit.DayRule {
	return limit.DayRule{Month: r.number(), Nth: r.number(), Weekday: r.number(), Seconds: r.number()}
}
