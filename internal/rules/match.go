package rules

import "strings"

// Request is what of a request a rule may go by. Each is asked for at most once.
type Request interface {
	// Host is the request's authority.
	Host() string
	// Route is the name of the request's route, which for Higress is its ingress's.
	Route() string
	// Service is the name of the cluster that the route leads to.
	Service() string
	// Consumer is who the request is from, as Higress's authentication wrote it.
	Consumer() string
}

// Find returns the position of the first rule that is for the request, or -1: the
// default.
func (s *Set) Find(r Request) int {
	f := facts{r: r}
	for i := range s.Rules {
		if s.Rules[i].matches(&f) {
			return i
		}
	}
	return -1
}

// facts are a request's, read when they are needed.
type facts struct {
	r                              Request
	host, route, service, consumer fact
}

type fact struct {
	text  string
	known bool
}

func (f *fact) get(ask func() string) string {
	if !f.known {
		f.text, f.known = ask(), true
	}
	return f.text
}

// matches looks at routes first, with their services; without routes at domains,
// then at services, then at prefixes of routes, with their consumers.
func (r *Rule) matches(f *facts) bool {
	switch {
	case len(r.routes) > 0:
		return contains(r.routes, f.route.get(f.r.Route)) && (len(r.services) == 0 || r.serves(f))
	case len(r.domains) > 0:
		host := withoutPort(f.host.get(f.r.Host))
		for _, d := range r.domains {
			if d.matches(host) {
				return true
			}
		}
		return false
	case len(r.services) > 0:
		return r.serves(f)
	}
	return r.prefixed(f) && (len(r.consumers) == 0 || contains(r.consumers, f.consumer.get(f.r.Consumer)))
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (r *Rule) prefixed(f *facts) bool {
	for _, p := range r.prefixes {
		if strings.HasPrefix(f.route.get(f.r.Route), p) {
			return true
		}
	}
	return false
}

// serves compares services, name or name:port, with a cluster's name of the form
// outbound|port|subset|name.
func (r *Rule) serves(f *facts) bool {
	parts := strings.Split(f.service.get(f.r.Service), "|")
	if len(parts) != 4 {
		return false
	}
	port, name := parts[1], parts[3]
	for _, s := range r.services {
		if s == name {
			return true
		}
		if i := strings.LastIndexByte(s, ':'); i >= 0 && s[:i] == name && s[i+1:] == port {
			return true
		}
	}
	return false
}

// domain is one host, or those with one end in common.
type domain struct {
	text           string
	prefix, suffix bool
}

// newDomain reads a domain: *.example.com, example.*, or the whole name.
func newDomain(s string) domain {
	switch {
	case s[0] == '*':
		return domain{text: s[1:], suffix: true}
	case s[len(s)-1] == '*':
		return domain{text: s[:len(s)-1], prefix: true}
	}
	return domain{text: s}
}

func (d domain) matches(host string) bool {
	switch {
	case d.suffix:
		return strings.HasSuffix(host, d.text)
	case d.prefix:
		return strings.HasPrefix(host, d.text)
	}
	return host == d.text
}

// withoutPort cuts the port off an authority; the address of an [IPv6] host stays.
func withoutPort(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.LastIndexByte(host, ']') > i {
		return host
	}
	return host[:i]
}
