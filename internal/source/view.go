package source

import "sluice/internal/ipaddr"

// Options are the parts of a configuration that decide how sources read a
// request. A nil *Options stands for the zero one.
type Options struct {
	// IgnoreCase makes paths that differ in letter case one path.
	IgnoreCase bool
	// IgnoreTrailingSlash makes /a/ and /a one path.
	IgnoreTrailingSlash bool
	// Client says how the client's address is found.
	Client Client
}

// cached names the values that a View computes once a request.
type cached uint16

const (
	hasMethod cached = 1 << iota
	hasRawPath
	hasPath
	hasHost
	hasClient
	hasClientText
	hasMetadata
	unknownClient
)

// View is one request as sources see it: a Request with what is derived from it
// computed on first use and kept. It can be pooled; the zero View is ready for
// Reset. It is not safe for concurrent use.
type View struct {
	// Hits is working memory for whoever matches limits against v. It outlives
	// a Reset.
	Hits []int

	req  Request
	opt  *Options
	done cached

	method   string
	rawPath  string // path without the query, as sent
	query    string // without the question mark, as sent
	path     string
	host     string
	client   ipaddr.Addr
	ipText   string
	metadata []byte
}

var noOptions Options

// Reset makes v a view of r. What v returned before is no longer valid.
func (v *View) Reset(r Request, o *Options) {
	if o == nil {
		o = &noOptions
	}
	*v = View{Hits: v.Hits, req: r, opt: o}
}

// Options returns what v was Reset with.
func (v *View) Options() *Options { return v.opt }

// first reports whether c is asked for the first time.
func (v *View) first(c cached) bool {
	if v.done&c != 0 {
		return false
	}
	v.done |= c
	return true
}

// Header returns a request header's value by its lower-case name. An empty
// value is a missing one; a repeated header is its values joined by a comma.
func (v *View) Header(name string) (string, bool) {
	return present(v.req.Header(name))
}

// Attribute returns an Envoy attribute's raw bytes; path's elements are joined
// by NUL.
func (v *View) Attribute(path string) ([]byte, bool) {
	return v.req.Attribute(path)
}

// Method returns the request's method in upper case, so that no spelling of it
// is a way around a limit; "" when there is none.
func (v *View) Method() string {
	if v.first(hasMethod) {
		m, _ := v.req.Header(":method")
		v.method = asciiUpper(m)
	}
	return v.method
}

// Path returns the request's path in the one spelling that conditions and keys
// see (NormalizePath); "" when there is none, as in a CONNECT.
func (v *View) Path() string {
	if v.first(hasPath) {
		v.splitPath()
		v.path = NormalizePath(v.rawPath, v.opt)
	}
	return v.path
}

// Query returns what follows the path's question mark, as sent.
func (v *View) Query() string {
	v.splitPath()
	return v.query
}

func (v *View) splitPath() {
	if v.first(hasRawPath) {
		p, _ := v.req.Header(":path")
		v.rawPath, v.query = SplitPath(p)
	}
}

// Host returns the host that the request is for in the one spelling that
// conditions and keys see (NormalizeHost); "" when there is none.
func (v *View) Host() string {
	if v.first(hasHost) {
		h, _ := v.req.Header(":authority")
		v.host = NormalizeHost(h)
	}
	return v.host
}

// Metadata returns the request's dynamic metadata, an envoy.config.core.v3.Metadata
// message; nil when there is none.
func (v *View) Metadata() []byte {
	if v.first(hasMetadata) {
		v.metadata, _ = v.req.Attribute(metadataAttribute)
	}
	return v.metadata
}

// ClientIP returns the client's address as the configuration's client_ip finds
// it: no zone, an IPv4 address in IPv6 as IPv4. It is false when there is none;
// see ClientUnknown.
func (v *View) ClientIP() (ipaddr.Addr, bool) {
	if v.first(hasClient) {
		a, ok := v.opt.Client.find(v)
		if ok {
			v.client = a
		} else {
			v.done |= unknownClient
		}
	}
	return v.client, v.done&unknownClient == 0
}

// ClientUnknown reports whether this request's client address was asked for and
// wasn't found. In a proxy that is set up right this doesn't happen, so it is
// worth a warning.
func (v *View) ClientUnknown() bool { return v.done&unknownClient != 0 }

// clientText is ClientIP as text.
func (v *View) clientText() (string, bool) {
	a, ok := v.ClientIP()
	if !ok {
		return "", false
	}
	if v.first(hasClientText) {
		v.ipText = a.String()
	}
	return v.ipText, true
}

// asciiUpper returns s with a…z as A…Z, s itself where it has none.
func asciiUpper(s string) string {
	for i := 0; i < len(s); i++ {
		if 'a' <= s[i] && s[i] <= 'z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'a' <= b[i] && b[i] <= 'z' {
					b[i] -= 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
