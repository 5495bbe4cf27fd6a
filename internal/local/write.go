package local

import (
	"encoding/binary"

	"sluice/internal/limit"
)

// added says what a page that was made holds more than before.
type added struct {
	pending bool  // an account
	units   int64 // of it that are new
	lost    int64 // units without an account
	shared  bool  // on a shared counter
}

// write makes the page that holds s.share as the counter's state, delta more
// units on its account. The page is valid until the next call.
func (s *Store) write(now int64, c *Counter, sl *slot, delta int64, what op) (page []byte, a added, full bool) {
	ms := floorMS(now)
	ends := s.share.Ends()
	code := c.Algorithm.Code
	s.state = s.share.AppendState(s.state[:0])
	skip := -1
	if sl.seated {
		skip = sl.own.at
	}
	page = copyLive(s.page[:0], sl.page, ms, skip)

	if sl.seated || what != opGive && (what != opSave || !sl.sharing) {
		if ends <= ms {
			return page, a, false // as a new one: it needs no record
		}
		room := seatsEnd
		if sl.seated {
			room = maxPage
		}
		room -= len(page) + headLen + len(s.state)
		units := s.appendAccount(now, c, sl, delta)
		if len(s.account) > room {
			s.account = s.account[:0]
			a.lost = units
			units = 0
		} else if units == 0 && delta > 0 && s.accounts(c) {
			a.lost = delta // its key is too long
		}
		if room >= 0 {
			if units > 0 {
				a.pending, a.units = true, delta
			}
			return appendRecord(page, sl.hash, code, ends, s.state, s.account), a, false
		}
		if sl.seated {
			return page, a, true
		}
	}

	a = added{shared: true}
	if s.accounts(c) && delta > 0 {
		a.lost = delta
	}
	skip = -1
	if sl.sharing {
		skip = sl.shared.at
	}
	page = copyLive(page[:0], sl.page, ms, skip)
	if ends <= ms {
		return page, a, false
	}
	if len(page)+headLen+len(s.state) > maxPage {
		return page, a, true
	}
	return appendRecord(page, s.class(c), code|sharedBit, ends, s.state, nil), a, false
}

// written notes that a page was stored.
func (s *Store) written(sl *slot, delta int64, a added) {
	if a.shared && delta > 0 {
		s.Stats.Shared++
	}
	s.Stats.Unaccounted += uint64(max(a.lost, 0))
	if a.pending {
		s.mark(sl.index)
	}
	sl.units = max(a.units, 0)
}

func (s *Store) accounts(c *Counter) bool {
	return c.Account && !c.Algorithm.Holds && c.Algorithm != limit.Penalty && c.Algorithm != limit.Pool
}

// pending is what the counter's record has on its account.
func (sl *slot) pending() int64 {
	if !sl.seated {
		return 0
	}
	a := readAccount(sl.own.account)
	return a.units
}

// appendAccount makes the counter's account, delta units more, in s.account, and
// returns its units. What doesn't count any more needs no charge.
func (s *Store) appendAccount(now int64, c *Counter, sl *slot, delta int64) int64 {
	s.account = s.account[:0]
	units := sl.pending() + delta
	if !s.accounts(c) || len(c.Key) > maxKey {
		units -= max(delta, 0)
	}
	units = min(units, sl.after.Current)
	if units <= 0 {
		return 0
	}
	s.args = c.Algorithm.Args(s.args[:0], c.Params, now)
	s.account = binary.AppendUvarint(s.account, uint64(units))
	s.account = binary.AppendUvarint(s.account, uint64(len(s.args)))
	for _, n := range s.args {
		s.account = binary.AppendUvarint(s.account, uint64(max(n, 0)))
	}
	s.account = append(s.account, c.Key...)
	return units
}
