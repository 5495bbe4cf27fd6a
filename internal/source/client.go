package source

import (
	"strings"
	"unsafe"

	"sluice/internal/ipaddr"
)

// Client says how the client's address is found; at most one of its ways is
// set. Its zero value takes the peer of the connection.
type Client struct {
	// TrustedHops is how many entries left of the peer in X-Forwarded-For are
	// believed: one for each proxy in front of this one.
	TrustedHops int
	// Trusted are the addresses of proxies: the client is the first address,
	// from the peer leftwards in X-Forwarded-For, that isn't one of them.
	Trusted *CIDRs
	// Header carries the client's address when the peer is in From.
	Header string // lower case
	From   *CIDRs
	// Envoy takes what the proxy itself decided.
	Envoy bool
}

// Bounds on what one X-Forwarded-For costs, whatever a caller sends.
const (
	maxHops      = 64 // entries looked at
	maxAddrBytes = 64 // bytes of one entry
)

// MaxTrustedHops is the largest Client.TrustedHops.
const MaxTrustedHops = maxHops - 1

// sourceAddress is the attribute with the address that Envoy takes for the
// client's, "address:port". The port is 0 where Envoy read the address from a
// header.
const sourceAddress = "source\x00address"

const forwardedFor = "x-forwarded-for"

// Attributes lists the attributes that finding the address may ask for.
func (c *Client) Attributes() []string { return []string{sourceAddress} }

// find returns the client's address.
func (c *Client) find(v *View) (ipaddr.Addr, bool) {
	if c.Envoy {
		a, _, ok := sourceAddr(v)
		return a, ok
	}
	peer, ok := findPeer(v)
	switch {
	case !ok:
	case c.Header != "":
		if c.From.Contains(peer) {
			text, _ := v.Header(c.Header)
			if a, ok := ParseAddr(text); ok {
				return a, true
			}
		}
	case c.Trusted != nil:
		return c.untrusted(v, peer), true
	case c.TrustedHops > 0:
		return c.hops(v, peer), true
	}
	return peer, ok
}

// hops goes TrustedHops entries left of the peer, or as far as there are any.
// An entry that isn't an address is skipped over: what stands right of it was
// written by a proxy that is trusted more.
func (c *Client) hops(v *View, peer ipaddr.Addr) ipaddr.Addr {
	addr := peer
	walk := newForwarded(v, peer)
	for range c.TrustedHops {
		a, more := walk.next()
		if !more {
			break
		}
		if a.IsValid() {
			addr = a
		}
	}
	return addr
}

// untrusted goes left while the address is a proxy's.
func (c *Client) untrusted(v *View, peer ipaddr.Addr) ipaddr.Addr {
	addr := peer
	walk := newForwarded(v, peer)
	for c.Trusted.Contains(addr) {
		a, more := walk.next()
		if !more || !a.IsValid() {
			break
		}
		addr = a
	}
	return addr
}

// findPeer returns the address of the connection's other end. A header can't
// be taken for it: where Envoy isn't told to use the remote address, all of
// X-Forwarded-For is the caller's own word, and source.address is taken from
// there; its port then is 0.
func findPeer(v *View) (ipaddr.Addr, bool) {
	if raw, ok := v.req.Attribute(sourceAddress); ok && len(raw) > 0 {
		a, port, ok := parseAddrPort(raw)
		return a, ok && port != 0
	}
	// A host without this attribute: Envoy's own entry is the last one.
	xff, ok := v.Header(forwardedFor)
	if !ok {
		return ipaddr.Addr{}, false
	}
	last := strings.TrimSpace(xff[strings.LastIndexByte(xff, ',')+1:])
	if len(last) > maxAddrBytes {
		return ipaddr.Addr{}, false
	}
	a, _, ok := ipaddr.Parse(last)
	return a.Unmap(), ok
}

// sourceAddr returns the address that the proxy takes for the client's.
func sourceAddr(v *View) (a ipaddr.Addr, port uint16, ok bool) {
	raw, _ := v.req.Attribute(sourceAddress)
	return parseAddrPort(raw)
}

func parseAddrPort(raw []byte) (a ipaddr.Addr, port uint16, ok bool) {
	if len(raw) == 0 || len(raw) > 2*maxAddrBytes {
		return ipaddr.Addr{}, 0, false
	}
	// The parser keeps nothing of its text.
	a, port, ok = ipaddr.ParseAddrPort(unsafe.String(&raw[0], len(raw)))
	return a.Unmap(), port, ok
}

// forwarded walks X-Forwarded-For from the right.
type forwarded struct {
	rest string
	left int // entries that may still be looked at
}

// newForwarded begins left of the entry that Envoy appended for the peer: its
// address, or for a peer on the same machine the machine's own, which can't be
// told from any other.
func newForwarded(v *View, peer ipaddr.Addr) forwarded {
	xff, _ := v.Header(forwardedFor)
	f := forwarded{rest: xff, left: maxHops}
	g := f
	if a, ok := g.next(); ok && (a == peer || peer.IsLoopback()) {
		return g
	}
	return f
}

// next returns the next entry to the left, the zero Addr for one that isn't an
// address, and false when there is none.
func (f *forwarded) next() (ipaddr.Addr, bool) {
	if f.rest == "" || f.left == 0 {
		return ipaddr.Addr{}, false
	}
	f.left--
	var e string
	if i := strings.LastIndexByte(f.rest, ','); i >= 0 {
		e, f.rest = f.rest[i+1:], f.rest[:i]
	} else {
		e, f.rest = f.rest, ""
	}
	a, _ := ParseAddr(strings.TrimSpace(e))
	return a, true
}

// ParseAddr reads an address as proxies write it: with or without a port,
// brackets or a zone. The result has no zone, and is IPv4 where the text is an
// IPv4 address in IPv6.
func ParseAddr(s string) (ipaddr.Addr, bool) {
	if s == "" || len(s) > maxAddrBytes {
		return ipaddr.Addr{}, false
	}
	if s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 0 || end+1 < len(s) && !port(s[end+1:]) {
			return ipaddr.Addr{}, false
		}
		s = s[1:end]
		if strings.IndexByte(s, ':') < 0 {
			return ipaddr.Addr{}, false
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 && i == strings.LastIndexByte(s, ':') {
		if !port(s[i:]) {
			return ipaddr.Addr{}, false
		}
		s = s[:i]
	}
	a, _, ok := ipaddr.Parse(s)
	return a.Unmap(), ok
}

// port reports whether s is a colon and a port number.
func port(s string) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
