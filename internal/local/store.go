// Package local counts while Redis can't answer: a gateway's own counters, which
// all workers of one proxy share over its shared data by compare-and-swap. Each
// counter admits the gateway's share of its limit (limit.Share).
//
// # Memory
//
// Shared data has no delete, so counters live in a fixed number of pages, found
// by a keyed hash of their key; Options.Bytes bounds them whatever callers send.
// A counter that is alive, because something that it admitted still counts, is
// never evicted. Where a page is full of such, keys that are new to it share one
// counter in it, per algorithm and numbers, with the share of a single key, and
// when a seat becomes free the next of them starts there with a copy of what the
// shared counter holds. So no key is ever admitted more than its share, callers
// that are known keep their own counters, and a flood of keys costs strangers
// capacity, not memory. Where not even a shared counter fits, the request is
// refused.
//
// # Account
//
// What is admitted is to be charged in Redis when that is back: a counter keeps
// the units that still count, with its key and its charge's arguments, and
// TakePending hands each out once. Keys that share a counter, and those longer
// than 255 bytes, have no account: each may get up to its share more in the one
// window in which Redis comes back. Stats.Unaccounted counts these units.
package local

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"sluice/internal/host"
	"sluice/internal/limit"
)

// Options are a store's numbers.
type Options struct {
	// Bytes bounds the memory that all counters take in the proxy, 2048 bytes a
	// page; 0 = 16 MiB, at least 64 KiB, at most 1 GiB. Stores that mean the same
	// counters must agree in it.
	Bytes int
	// Space keeps apart the counters of plugins that share a proxy and mean
	// different Redis servers.
	Space string
}

const (
	defaultBytes = 16 << 20
	minBytes     = 64 << 10
	maxBytes     = 1 << 30
)

// Stats count, since the store was made, what an operator may want to know. All
// are of this worker.
type Stats struct {
	Shared      uint64 // charges on a shared counter: the key found no seat in its page
	Full        uint64 // refused: not even a shared counter fitted
	Conflicts   uint64 // writes repeated because another worker was faster
	GaveUp      uint64 // refused, or not given back, after too many of these, or because shared data failed
	Corrupt     uint64 // pages that weren't readable and were begun anew
	Unaccounted uint64 // units admitted that won't be charged in Redis
}

// Store is one worker's access to the gateway's counters. It is not safe for
// concurrent use. Its methods must not be called from TakePending's function.
type Store struct {
	Stats Stats

	h      host.Host
	seed   [2]uint64
	seeded bool
	pages  uint32
	name   []byte   // of a page, without its number
	dirty  []uint64 // a bit a page: this worker may have put an account there
	cursor uint32   // the page that TakePending looks at next

	// Reused from call to call.
	share   limit.Share
	slots   []slot
	page    []byte // of capacity maxPage
	state   []byte
	account []byte
	text    []byte
	args    []int64
}

// New makes a worker's store. It makes no host call.
func New(h host.Host, o Options) *Store {
	size := o.Bytes
	if size == 0 {
		size = defaultBytes
	}
	size = min(max(size, minBytes), maxBytes)
	s := &Store{h: h, pages: uint32(size / pageCost), page: make([]byte, 0, maxPage)}
	space := uint32(2166136261)
	for i := range len(o.Space) {
		space = (space ^ uint32(o.Space[i])) * 16777619
	}
	s.name = appendHex(append(make([]byte, 0, 32), "sluice.l"...), space, 8)
	// A new worker doesn't know what others left behind, so it looks everywhere
	// once.
	s.dirty = make([]uint64, (s.pages+63)/64)
	for i := range s.pages {
		s.mark(i)
	}
	return s
}

// appendHex appends at least width digits.
func appendHex(dst []byte, n uint32, width int) []byte {
	for width < 8 && n>>(4*width) > 0 {
		width++
	}
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, "0123456789abcdef"[n>>(4*i)&15])
	}
	return dst
}

// Memory is the bound on what the counters take in the proxy, bytes.
func (s *Store) Memory() int { return int(s.pages) * pageCost }

func (s *Store) mark(page uint32)   { s.dirty[page/64] |= 1 << (page % 64) }
func (s *Store) unmark(page uint32) { s.dirty[page/64] &^= 1 << (page % 64) }

// pageName is valid until the next call.
func (s *Store) pageName(page uint32) string {
	n := len(s.name)
	b := appendHex(append(s.name, '.'), page, 4)
	s.name = b[:n]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

const casAbsent = 0xFFFFFFFF // creates only

// get reads a page and its number for put. A page that can't be read is empty.
func (s *Store) get(page uint32) (data []byte, cas uint32, ok bool) {
	data, cas, st := s.h.SharedData(s.pageName(page))
	switch st {
	case host.OK:
	case host.NotFound:
		return nil, casAbsent, true
	default:
		return nil, casAbsent, false // a put that comes nevertheless overwrites nothing
	}
	if !sound(data) {
		s.Stats.Corrupt++
		data = nil
	}
	return data, cas, true
}

func (s *Store) put(page uint32, data []byte, cas uint32) bool {
	return s.h.SetSharedData(s.pageName(page), data, cas) == host.OK
}

// ready learns the hash's secret, which the first worker made.
func (s *Store) ready() bool {
	for range 3 {
		if s.seeded {
			return true
		}
		n := len(s.name)
		b := append(s.name, ".seed"...)
		s.name = b[:n]
		name := unsafe.String(unsafe.SliceData(b), len(b))
		v, cas, st := s.h.SharedData(name)
		if st == host.OK && len(v) == 16 {
			s.seed = [2]uint64{binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])}
			s.seeded = true
			continue
		}
		if st == host.NotFound {
			cas = casAbsent
		} else if st != host.OK {
			break
		}
		var made [16]byte
		s.h.Random(made[:])
		s.h.SetSharedData(name, made[:], cas)
	}
	return s.seeded
}

// place finds a key's page.
func (s *Store) place(key []byte) (sum uint64, page uint32) {
	sum = hash(&s.seed, key)
	hi, _ := bits.Mul64(sum, uint64(s.pages))
	return sum, uint32(hi)
}

func floorMS(now int64) int64 {
	ms := now / 1000
	if now%1000 < 0 {
		ms--
	}
	return ms
}
