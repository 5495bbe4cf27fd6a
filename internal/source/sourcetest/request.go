// Package sourcetest has a request for tests.
package sourcetest

import (
	"strings"

	"sluice/internal/source"
)

// Request is a source.Request made of maps.
type Request struct {
	Headers map[string]string // by lower-case name
	// Attributes are by dotted name, such as source.address.
	Attributes map[string][]byte
	// Asked counts the calls of Attribute.
	Asked int
}

// New makes a GET of a URL without scheme, such as example.com/a?b=c, from
// 192.0.2.1, with headers as name, value, name, value….
func New(url string, headers ...string) *Request {
	host, path := url, "/"
	if i := strings.IndexByte(url, '/'); i >= 0 {
		host, path = url[:i], url[i:]
	}
	r := &Request{
		Headers:    map[string]string{":method": "GET", ":authority": host, ":path": path, ":scheme": "http"},
		Attributes: map[string][]byte{},
	}
	r.From("192.0.2.1:40000")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Headers[headers[i]] = headers[i+1]
	}
	return r
}

// From sets the address that the proxy takes for the client's, with its port.
func (r *Request) From(addr string) *Request {
	r.Attributes["source.address"] = []byte(addr)
	return r
}

// Header is source.Request.
func (r *Request) Header(name string) (string, bool) {
	v, ok := r.Headers[name]
	return v, ok
}

// Attribute is source.Request.
func (r *Request) Attribute(path string) ([]byte, bool) {
	r.Asked++
	v, ok := r.Attributes[strings.ReplaceAll(path, "\x00", ".")]
	return v, ok
}

// View returns a view of the request.
func (r *Request) View(o *source.Options) *source.View {
	v := new(source.View)
	v.Reset(r, o)
	return v
}
