// Package call encodes calls of a script: for one request, or for several that share
// one. Package lua says what the arguments mean.
package call

import "sluice/redisproto"

// Script is what is called.
type Script struct {
	source string
	name   []byte // EVALSHA and the script's name, encoded
}

// NewScript is a script with its SHA-1 in hex.
func NewScript(source, sha string) *Script {
	return &Script{source, redisproto.AppendBulkString(redisproto.AppendBulkString(nil, "EVALSHA"), sha)}
}

// Request is what one request asks of a script, encoded. It makes a call by
// itself, or shares one with others (Shared). The zero value is ready.
type Request struct {
	// Script is what is asked.
	Script *Script
	// Clock is the time of the decision, us since the epoch, or below 0 for Redis's
	// own.
	Clock int64

	keys, args   []byte // bulk strings; args without the id
	nkeys, nargs int
	id           []byte // a bulk string
}

// Begin starts a request to a script anew: nothing is asked yet. id is its own among
// all requests; it isn't kept.
func (r *Request) Begin(s *Script, id []byte) {
	r.Script = s
	r.keys, r.args, r.nkeys, r.nargs = r.keys[:0], r.args[:0], 0, 0
	r.id = redisproto.AppendBulk(r.id[:0], id)
}

// Key adds a counter's key.
func (r *Request) Key(key []byte) {
	r.keys = redisproto.AppendBulk(r.keys, key)
	r.nkeys++
}

// Number adds an argument.
func (r *Request) Number(n int64) {
	r.args = redisproto.AppendBulkInt(r.args, n)
	r.nargs++
}

// Encoded adds n arguments that were encoded before.
func (r *Request) Encoded(args []byte, n int) {
	r.args = append(r.args, args...)
	r.nargs += n
}

// AppendCall appends the call that asks for this request alone, with the script
// itself where a Redis lacks it.
func (r *Request) AppendCall(dst []byte, full bool) []byte {
	dst = redisproto.AppendArray(dst, 3+r.nkeys+2+r.nargs)
	if full {
		dst = redisproto.AppendBulkString(dst, "EVAL")
		dst = redisproto.AppendBulkString(dst, r.Script.source)
	} else {
		dst = append(dst, r.Script.name...)
	}
	dst = redisproto.AppendBulkInt(dst, int64(r.nkeys))
	dst = append(dst, r.keys...)
	dst = appendClock(dst, r.Clock)
	dst = append(dst, r.id...)
	return append(dst, r.args...)
}

func appendClock(dst []byte, us int64) []byte {
	if us < 0 {
		return append(dst, "$0\r\n\r\n"...)
	}
	return redisproto.AppendBulkInt(dst, us)
}

// Shared is a call that several requests share. The zero value is one for none.
type Shared struct {
	sum    Request
	n      int
	single int // of sum.args: where those of the first request begin
}

// Len is how many requests share it.
func (c *Shared) Len() int { return c.n }

// Size is about how long it is, bytes.
func (c *Shared) Size() int { return len(c.sum.keys) + len(c.sum.args) }

// Takes reports whether r can share it: all ask one script and go by one clock.
func (c *Shared) Takes(r *Request) bool {
	return c.n == 0 || c.sum.Script == r.Script && (c.sum.Clock < 0) == (r.Clock < 0)
}

// Add lets r share it. Gateways' clocks may differ by little; the latest counts.
func (c *Shared) Add(r *Request) {
	s := &c.sum
	if c.n == 0 {
		s.Script, s.Clock = r.Script, r.Clock
		s.id = append(s.id[:0], r.id...)
	}
	s.Clock = max(s.Clock, r.Clock)
	s.keys = append(s.keys, r.keys...)
	s.args = redisproto.AppendBulkInt(s.args, int64(r.nkeys))
	s.args = redisproto.AppendBulkInt(s.args, int64(r.nargs))
	s.args = append(s.args, r.id...)
	if c.n == 0 {
		c.single = len(s.args)
	}
	s.args = append(s.args, r.args...)
	s.nkeys += r.nkeys
	s.nargs += r.nargs
	c.n++
}

// several stands in the place of the request's id before the arguments of several.
const several = "+"

// Flush appends the call and empties c.
func (c *Shared) Flush(dst []byte) []byte {
	r := &c.sum
	if c.n == 1 {
		r.args = append(r.args[:0], r.args[c.single:]...)
	} else {
		r.nargs += 3 * c.n
		r.id = redisproto.AppendBulkString(r.id[:0], several)
	}
	dst = r.AppendCall(dst, false)
	c.Drop()
	return dst
}

// Drop empties c.
func (c *Shared) Drop() {
	c.sum.Begin(nil, nil)
	c.n = 0
}
