package local

import (
	"encoding/binary"
	"math/bits"

	"sluice/internal/limit"
)

// Pending is what a counter admitted locally and Redis doesn't know of: charge
// Units (op charge) to Key with the algorithm's arguments Args, which are those
// of the whole limit. It is valid during the call that gets it.
type Pending struct {
	Key       []byte
	Algorithm *limit.Algorithm
	Args      []int64
	Units     int64
}

// Copy is a Pending that stays valid.
func (p *Pending) Copy() Pending {
	c := *p
	c.Key = append([]byte(nil), p.Key...)
	c.Args = append([]int64(nil), p.Args...)
	return c
}

// TakePending takes accounts and gives each to f, looking at no more than so many
// pages; more says that there are others to look at. Over all workers each unit
// is taken once. Units are those that count still, or a few more. Where f
// returns false, that account and those that follow in its page are put back,
// and TakePending returns.
//
// A new worker looks at every page once; later only at those that it itself
// changed, so each worker must call this until there is no more.
func (s *Store) TakePending(now int64, pages int, f func(p *Pending) bool) (more bool) {
	for range pages {
		page, ok := s.nextDirty()
		if !ok {
			return false
		}
		if !s.takePage(now, page, f) {
			return true
		}
	}
	_, more = s.nextDirty()
	return more
}

// nextDirty finds the next page that may hold accounts, from the cursor on.
func (s *Store) nextDirty() (page uint32, ok bool) {
	words := uint32(len(s.dirty))
	at := s.cursor / 64 % words
	for range words {
		if w := s.dirty[at]; w != 0 {
			s.cursor = at * 64
			return at*64 + uint32(bits.TrailingZeros64(w)), true
		}
		at = (at + 1) % words
	}
	return 0, false
}

// takePage empties a page's accounts into f; false when f wants no more or the
// page couldn't be had.
func (s *Store) takePage(now int64, index uint32, f func(p *Pending) bool) bool {
	ms := floorMS(now)
	for range tries {
		page, cas, ok := s.get(index)
		if !ok {
			break
		}
		bare, any := s.strip(page, ms)
		if any && !s.put(index, bare, cas) {
			s.Stats.Conflicts++
			continue
		}
		s.unmark(index)
		return !any || s.hand(page, ms, index, now, f)
	}
	s.Stats.GaveUp++
	s.cursor = index + 64 // the others don't wait for it
	return false
}

// strip copies a page's live records without their accounts, and reports whether
// there were any.
func (s *Store) strip(page []byte, ms int64) (bare []byte, any bool) {
	bare = append(s.page[:0], pageFormat)
	for at := 1; at < len(page); {
		r, ok := readRecord(page, at)
		if !ok {
			break
		}
		if r.ends > ms {
			bare = appendRecord(bare, r.hash, r.code, r.ends, r.state, nil)
			any = any || len(r.account) > 0
		}
		at = r.end
	}
	return bare, any
}

// hand gives the accounts of a page that was stripped to f.
func (s *Store) hand(page []byte, ms int64, index uint32, now int64, f func(p *Pending) bool) bool {
	good := true
	var p Pending
	for at := 1; at < len(page); {
		r, ok := readRecord(page, at)
		if !ok {
			break
		}
		at = r.end
		if r.ends <= ms || len(r.account) == 0 {
			continue
		}
		a := readAccount(r.account)
		p.Algorithm = limit.ShareAlgorithm(r.code)
		if a.units == 0 || p.Algorithm == nil {
			continue
		}
		if good {
			s.args = a.numbers(s.args[:0])
			p.Key, p.Args, p.Units = a.key, s.args, a.units
			good = f(&p)
		}
		if !good {
			s.putBack(now, index, r.hash, r.code, a)
		}
	}
	return good
}

// PutBack returns to its account what TakePending gave and couldn't be charged.
// What doesn't count any more is dropped.
func (s *Store) PutBack(now int64, p *Pending) {
	if !s.ready() || p.Units <= 0 || len(p.Key) > maxKey || len(p.Args) > maxArgs {
		return
	}
	sum, index := s.place(p.Key)
	args := binary.AppendUvarint(s.text[:0], uint64(len(p.Args)))
	for _, n := range p.Args {
		args = binary.AppendUvarint(args, uint64(max(n, 0)))
	}
	s.text = args
	s.putBack(now, index, sum, p.Algorithm.Code, account{units: p.Units, args: args, key: p.Key})
}

func (s *Store) putBack(now int64, index uint32, sum uint64, code byte, a account) {
	ms := floorMS(now)
	for range tries {
		page, cas, ok := s.get(index)
		if !ok {
			break
		}
		r, ok := find(page, sum, code, ms)
		if !ok {
			return // all of it has left its window
		}
		have := readAccount(r.account)
		b := binary.AppendUvarint(s.account[:0], uint64(min(a.units+have.units, maxUnits)))
		b = append(append(b, a.args...), a.key...)
		s.account = b
		fresh := copyLive(s.page[:0], page, ms, r.at)
		if len(fresh)+headLen+len(r.state)+len(b) > maxPage {
			break
		}
		fresh = appendRecord(fresh, r.hash, r.code, r.ends, r.state, b)
		if s.put(index, fresh, cas) {
			s.mark(index)
			return
		}
		s.Stats.Conflicts++
	}
	s.Stats.Unaccounted += uint64(a.units)
}
