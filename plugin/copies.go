package plugin

import (
	"encoding/binary"

	"sluice/internal/host"
)

// maxStreams bounds the table of streams, should ends ever not be reported.
const maxStreams = 1 << 17

// copies finds out whether another copy of the plugin, earlier in the same
// filter chain, already decided a request by the same configuration.
//
// Asking the proxy would cost each request a host call. So requests are noted by
// x-request-id, which all copies of one stream see and other streams, if their
// callers don't forge it, don't; only a second request with the same one is
// looked into: what the first copy left in the stream's filter state can't be
// forged. It doesn't survive an internal redirect, which is a request of its own.
type copies struct {
	streams map[string]noted
}

// noted are the configurations that decide a stream: nearly always one.
type noted struct {
	print uint64 // of the first
	more  []uint64
}

func (n noted) has(print uint64) bool {
	if n.print == print {
		return true
	}
	for _, p := range n.more {
		if p == print {
			return true
		}
	}
	return false
}

// fingerprint tells configurations apart: FNV-1a of their text.
func fingerprint(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// decided reports whether the request was decided by this configuration already,
// and notes it otherwise.
func (r *request) decided() bool {
	w := r.w
	c := &w.vm.copies
	id, ok := r.headers.First("x-request-id")
	if !ok || id == "" {
		return r.decidedByState()
	}
	if n, known := c.streams[id]; known {
		return r.decidedTwice(id, n)
	}
	if c.streams == nil || len(c.streams) >= maxStreams {
		c.streams = make(map[string]noted)
	}
	c.streams[id] = noted{print: w.print}
	r.streamID = id
	return false
}

// decidedTwice is decided for a request whose id is noted already: by an earlier
// copy in its own chain, or by another stream whose caller sent the same id. The
// filter state, which no caller can write, tells: a stream that isn't the noted
// one is marked with its copies from its first on.
func (r *request) decidedTwice(id string, n noted) bool {
	w := r.w
	if _, s := w.host.Property(copiesState); s == host.OK {
		return r.decidedByState()
	}
	if _, s := w.host.Property("sluice.decision"); s != host.OK {
		return r.decidedByState()
	}
	if n.has(w.print) {
		return true
	}
	n.more = append(n.more, w.print)
	w.vm.copies.streams[id] = n
	return false
}

// copiesState is the filter state with the fingerprints of a stream's copies.
const copiesState = "sluice.copies"

// decidedByState is decided by the filter state alone.
func (r *request) decidedByState() bool {
	h := r.w.host
	seen, s := h.Property(copiesState)
	if s != host.OK {
		seen = nil
	}
	for i := 0; i+8 <= len(seen); i += 8 {
		if binary.LittleEndian.Uint64(seen[i:]) == r.w.print {
			return true
		}
	}
	h.SetProperty(copiesState, binary.LittleEndian.AppendUint64(seen, r.w.print))
	return false
}

// forget ends what decided noted for the request's stream.
func (r *request) forget() {
	if r.streamID != "" {
		delete(r.w.vm.copies.streams, r.streamID)
		r.streamID = ""
	}
}
