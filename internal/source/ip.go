package source

import (
	"errors"
	"strconv"
	"strings"

	"sluice/internal/ipaddr"
)

func init() {
	register(Kind{Name: "ip", Bare: true, Example: "ip",
		Doc:   "The client's address, as `client_ip` finds it.",
		Parse: func(string) (Source, error) { return IP{}, nil }})
	register(Kind{Name: "ip", Sep: '/', Arg: "BITS", Example: "ip/24",
		Doc:   "The client's network of so many bits; `ip/24,56` also says the bits of an IPv6 network, 64 by default.",
		Parse: parseNetwork})
}

// IP is the client's address.
type IP struct{}

func (IP) String() string { return "ip" }

// Value returns the address as text.
func (IP) Value(v *View) (string, bool) { return v.clientText() }

// AppendValue appends the address.
func (IP) AppendValue(dst []byte, v *View) ([]byte, bool) {
	a, ok := v.ClientIP()
	if !ok {
		return dst, false
	}
	return a.AppendTo(dst), true
}

// Attributes lists what finding the address asks for.
func (IP) Attributes(o *Options) []string { return o.Client.Attributes() }

// network is the network that the client's address is in.
type network struct {
	v4, v6 int // bits
}

// defaultV6 is the bits of an IPv6 network where none are given: what one
// customer gets at least.
const defaultV6 = 64

func parseNetwork(arg string) (Source, error) {
	four, six, both := strings.Cut(arg, ",")
	n := network{v6: defaultV6}
	var ok bool
	if n.v4, ok = prefixLen(four, 32); !ok {
		return nil, errors.New("the bits of an IPv4 network go from 1 to 32, as in ip/24")
	}
	if both {
		if n.v6, ok = prefixLen(six, 128); !ok {
			return nil, errors.New("the bits of an IPv6 network go from 1 to 128, as in ip/24,64")
		}
	}
	return n, nil
}

func prefixLen(s string, most int) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil && n >= 1 && int(n) <= most
}

func (n network) String() string {
	s := "ip/" + strconv.Itoa(n.v4)
	if n.v6 != defaultV6 {
		s += "," + strconv.Itoa(n.v6)
	}
	return s
}

func (n network) prefix(v *View) (ipaddr.Prefix, bool) {
	a, ok := v.ClientIP()
	if !ok {
		return ipaddr.Prefix{}, false
	}
	bits := n.v6
	if a.Is4() {
		bits = n.v4
	}
	return a.Prefix(bits)
}

func (n network) Value(v *View) (string, bool) {
	p, ok := n.prefix(v)
	if !ok {
		return "", false
	}
	return p.String(), true
}

// AppendValue appends the network.
func (n network) AppendValue(dst []byte, v *View) ([]byte, bool) {
	p, ok := n.prefix(v)
	if !ok {
		return dst, false
	}
	return p.AppendTo(dst), true
}

// Attributes lists what finding the address asks for.
func (network) Attributes(o *Options) []string { return o.Client.Attributes() }
