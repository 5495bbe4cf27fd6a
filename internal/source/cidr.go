package source

import (
	"errors"
	"math/bits"
	"strings"

	"sluice/internal/ipaddr"
)

// CIDRs is a set of address ranges: a trie of their prefixes, in which a node
// stands wherever a range ends or two part. Looking an address up visits at most
// as many nodes as a prefix has bits, whatever the set's size.
type CIDRs struct {
	v4, v6 int32 // roots; 0 for none
	nodes  []cidrNode
	texts  []string
}

// cidrNode is a prefix. Below it are the longer ones, by their next bit.
type cidrNode struct {
	bits  prefixBits
	len   int
	end   bool // it is one of the ranges
	child [2]int32
}

// prefixBits are an address's bits from the highest on.
type prefixBits struct{ hi, lo uint64 }

func bitsOf(a ipaddr.Addr) prefixBits {
	hi, lo := a.Bits()
	return prefixBits{hi, lo}
}

// common counts the bits up to most that two addresses begin with alike.
func (p prefixBits) common(q prefixBits, most int) int {
	n := bits.LeadingZeros64(p.hi ^ q.hi)
	if n == 64 {
		n += bits.LeadingZeros64(p.lo ^ q.lo)
	}
	return min(n, most)
}

// at returns bit i, counted from 0.
func (p prefixBits) at(i int) int {
	if i < 64 {
		return int(p.hi >> (63 - i) & 1)
	}
	return int(p.lo >> (127 - i) & 1)
}

// ParseCIDR reads a range as 10.0.0.0/8 or 2001:db8::/32, or one address.
func ParseCIDR(text string) (ipaddr.Prefix, error) {
	p, ok := ipaddr.ParsePrefix(text)
	if !ok {
		a, zoned, ok := ipaddr.Parse(text)
		if !ok || zoned {
			return ipaddr.Prefix{}, errors.New("\"" + text + "\" is neither an address nor a range such as 10.0.0.0/8")
		}
		a = a.Unmap()
		return ipaddr.PrefixFrom(a, a.BitLen()), nil
	}
	if a := p.Addr(); a.Is4In6() {
		if p.Bits() < 96 {
			return ipaddr.Prefix{}, errors.New("\"" + text + "\": a range of IPv4 addresses in IPv6 has at least /96")
		}
		p = ipaddr.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	if m := p.Masked(); m != p {
		return ipaddr.Prefix{}, errors.New("\"" + text + "\" has bits set after its prefix; did you mean " + m.String() + "?")
	}
	return p, nil
}

// Add puts a range into the set.
func (c *CIDRs) Add(p ipaddr.Prefix) {
	c.texts = append(c.texts, p.String())
	if c.nodes == nil {
		c.nodes = make([]cidrNode, 1) // 0 is no node
	}
	b, n := bitsOf(p.Addr()), p.Bits()
	if p.Addr().Is4() {
		c.v4 = c.insert(c.v4, b, n)
	} else {
		c.v6 = c.insert(c.v6, b, n)
	}
}

// insert puts a prefix below the node at, and returns what stands there then.
// It goes at most as deep as a prefix is long.
func (c *CIDRs) insert(at int32, b prefixBits, n int) int32 {
	if at == 0 {
		return c.node(cidrNode{bits: b, len: n, end: true})
	}
	have := c.nodes[at]
	common := have.bits.common(b, min(have.len, n))
	switch {
	case common < have.len:
		fork := cidrNode{bits: b, len: common, end: common == n}
		fork.child[have.bits.at(common)] = at
		if common < n {
			fork.child[b.at(common)] = c.node(cidrNode{bits: b, len: n, end: true})
		}
		return c.node(fork)
	case have.len == n:
		c.nodes[at].end = true
	default:
		next := b.at(have.len)
		below := c.insert(have.child[next], b, n)
		c.nodes[at].child[next] = below
	}
	return at
}

func (c *CIDRs) node(n cidrNode) int32 {
	c.nodes = append(c.nodes, n)
	return int32(len(c.nodes) - 1)
}

// Contains reports whether a is in one of the ranges. a has no zone and isn't
// an IPv4 address in IPv6.
func (c *CIDRs) Contains(a ipaddr.Addr) bool {
	if c == nil {
		return false
	}
	at, b := c.v6, bitsOf(a)
	if a.Is4() {
		at = c.v4
	}
	for at != 0 {
		n := &c.nodes[at]
		if n.bits.common(b, n.len) < n.len {
			return false
		}
		if n.end {
			return true
		}
		at = n.child[b.at(n.len)] // a node that ends nothing has nodes below it
	}
	return false
}

// Len returns how many ranges were added.
func (c *CIDRs) Len() int { return len(c.texts) }

func (c *CIDRs) String() string { return strings.Join(c.texts, ", ") }
