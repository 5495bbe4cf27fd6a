package source

import (
	"errors"
	"net/netip"
	"strings"
)

// CIDRs is a set of address ranges. Looking an address up takes as many steps
// as the longest prefix that leads to it has bits, whatever the set's size.
type CIDRs struct {
	v4, v6 int32 // roots; 0 for none
	nodes  []cidrNode
	texts  []string
}

type cidrNode struct {
	child [2]int32
	end   bool
}

// ParseCIDR reads a range as 10.0.0.0/8 or 2001:db8::/32, or one address.
func ParseCIDR(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, aerr := netip.ParseAddr(text)
		if aerr != nil || a.Zone() != "" {
			return netip.Prefix{}, errors.New("\"" + text + "\" is neither an address nor a range such as 10.0.0.0/8")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	if a := p.Addr(); a.Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errors.New("\"" + text + "\": a range of IPv4 addresses in IPv6 has at least /96")
		}
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	if m := p.Masked(); m != p {
		return netip.Prefix{}, errors.New("\"" + text + "\" has bits set after its prefix; did you mean " + m.String() + "?")
	}
	return p, nil
}

// Add puts a range into the set.
func (c *CIDRs) Add(p netip.Prefix) {
	c.texts = append(c.texts, p.String())
	if c.nodes == nil {
		c.nodes = make([]cidrNode, 1) // 0 is no node
	}
	root := &c.v6
	if p.Addr().Is4() {
		root = &c.v4
	}
	if *root == 0 {
		*root = c.node()
	}
	at := *root
	raw := p.Addr().As16()
	bits := raw[:]
	if p.Addr().Is4() {
		bits = raw[12:]
	}
	for i := range p.Bits() {
		b := bits[i/8] >> (7 - i%8) & 1
		if c.nodes[at].child[b] == 0 {
			n := c.node()
			c.nodes[at].child[b] = n
		}
		at = c.nodes[at].child[b]
	}
	c.nodes[at].end = true
}

func (c *CIDRs) node() int32 {
	c.nodes = append(c.nodes, cidrNode{})
	return int32(len(c.nodes) - 1)
}

// Contains reports whether a is in one of the ranges. a has no zone and isn't
// an IPv4 address in IPv6.
func (c *CIDRs) Contains(a netip.Addr) bool {
	at := c.v6
	raw := a.As16()
	bits := raw[:]
	if a.Is4() {
		at, bits = c.v4, raw[12:]
	}
	for i := 0; at != 0; i++ {
		if c.nodes[at].end {
			return true
		}
		if i == len(bits)*8 {
			return false
		}
		at = c.nodes[at].child[bits[i/8]>>(7-i%8)&1]
	}
	return false
}

// Len returns how many ranges were added.
func (c *CIDRs) Len() int { return len(c.texts) }

func (c *CIDRs) String() string { return strings.Join(c.texts, ", ") }
