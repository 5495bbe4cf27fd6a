package simulate

import (
	"encoding/binary"
	"hash/fnv"
	"net"
	"net/netip"
	"strings"

	"sluice/internal/accesslog"
	"sluice/internal/source"
)

// request is a request as a configuration's sources see it: a source.Request. It
// is reused.
type request struct {
	method, path, host string
	headers            []pair // names in lower case
	attributes         []pair // elements of a name joined by NUL
	metadata           []pair // dotted names of values, under their namespace
	claims             []pair
	remote             []byte // address:port

	names     *hostNames
	encoded   []byte
	isEncoded bool
}

type pair struct{ name, value string }

// Header is source.Request.
func (r *request) Header(name string) (string, bool) {
	switch name {
	case ":method":
		return r.method, r.method != ""
	case ":path":
		return r.path, r.path != ""
	case ":authority":
		return r.host, r.host != ""
	}
	for i := range r.headers {
		if r.headers[i].name == name {
			return r.headers[i].value, true
		}
	}
	return "", false
}

// Attribute is source.Request.
func (r *request) Attribute(path string) ([]byte, bool) {
	switch path {
	case "source\x00address":
		return r.remote, len(r.remote) > 0
	case "metadata":
		if !r.isEncoded {
			r.encoded, r.isEncoded = r.encode(r.encoded[:0]), true
		}
		return r.encoded, len(r.encoded) > 0
	}
	for i := range r.attributes {
		if r.attributes[i].name == path {
			return []byte(r.attributes[i].value), true
		}
	}
	return nil, false
}

func (r *request) reset() {
	*r = request{
		headers: r.headers[:0], attributes: r.attributes[:0], metadata: r.metadata[:0], claims: r.claims[:0],
		remote: r.remote[:0], names: r.names, encoded: r.encoded[:0],
	}
}

// fromRecord makes r the request of a log's line.
func (r *request) fromRecord(rec *accesslog.Record) {
	r.reset()
	r.method, r.path, r.host = rec.Method, rec.Path, rec.Host
	rec.EachNamed(r.name)
	if r.from(rec.Remote); rec.Remote == "" {
		// The proxy noted the peer as the last one that the request came through.
		if xff, ok := r.Header("x-forwarded-for"); ok {
			r.from(strings.TrimSpace(xff[strings.LastIndexByte(xff, ',')+1:]))
		}
	}
}

// name adds a value that has a name.
func (r *request) name(k accesslog.Kind, name, value string) {
	switch k {
	case accesslog.ReqHeader:
		r.headers = append(r.headers, pair{name, value})
	case accesslog.ReqCookie:
		r.cookie(name + "=" + value)
	case accesslog.Metadata:
		r.metadata = append(r.metadata, pair{name, value})
	case accesslog.JWT:
		r.claims = append(r.claims, pair{name, value})
	case accesslog.Route:
		r.attributes = append(r.attributes, pair{"xds\x00route_name", value})
	case accesslog.FilterState:
		r.attributes = append(r.attributes, pair{"filter_state\x00" + name, value})
	case accesslog.Attr:
		r.attributes = append(r.attributes, pair{strings.ReplaceAll(name, ".", "\x00"), value})
	}
}

func (r *request) cookie(c string) {
	for i := range r.headers {
		if r.headers[i].name == "cookie" {
			r.headers[i].value += "; " + c
			return
		}
	}
	r.headers = append(r.headers, pair{"cookie", c})
}

// from sets the peer's address. A host name gets an address of its own.
func (r *request) from(remote string) {
	if remote == "" {
		return
	}
	if ap, err := netip.ParseAddrPort(remote); err == nil && ap.Port() != 0 {
		r.remote = append(r.remote, remote...)
		return
	}
	// A port of 0 would mean an address that a header gave.
	if a, ok := source.ParseAddr(remote); ok {
		r.remote = append(r.remote, net.JoinHostPort(a.String(), "1")...)
		return
	}
	if a, ok := r.names.address(remote); ok {
		r.remote = netip.AddrPortFrom(a, 1).AppendTo(r.remote)
	}
}

// hostNames gives host names that stand where addresses belong addresses.
type hostNames struct {
	names map[netip.Addr]string
	// Lines and Bad count the lines with a name, and with something else.
	lines, bad int64
}

// maxNames bounds how many names are shown by their name.
const maxNames = 100_000

func (h *hostNames) address(name string) (netip.Addr, bool) {
	if h == nil {
		return netip.Addr{}, false
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	letter := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter = letter || 'a' <= c && c <= 'z'
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_') {
			letter = false
			break
		}
	}
	if !letter || len(name) > 253 {
		h.bad++
		return netip.Addr{}, false
	}
	h.lines++
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))
	// A network of 64 bits of its own, of the range that is nobody's.
	b := [16]byte{0: 0xfd, 15: 1}
	var hash [8]byte
	binary.BigEndian.PutUint64(hash[:], sum.Sum64())
	copy(b[1:8], hash[:7])
	a := netip.AddrFrom16(b)
	if h.names == nil {
		h.names = map[netip.Addr]string{}
	}
	if _, known := h.names[a]; !known && len(h.names) < maxNames {
		h.names[a] = strings.Clone(name)
	}
	return a, true
}

// name is the host name behind an address, or "".
func (h *hostNames) name(text string) string {
	if h == nil || len(h.names) == 0 {
		return ""
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		b := p.Addr().As16()
		b[15] = 1
		return h.names[netip.AddrFrom16(b)]
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return ""
	}
	return h.names[a]
}

// jwtNamespace is where jwt_authn stores the payloads of verified tokens.
const jwtNamespace = "envoy.filters.http.jwt_authn"

// encode appends the dynamic metadata as a proxy hands it out: a message
// envoy.config.core.v3.Metadata.
func (r *request) encode(dst []byte) []byte {
	if len(r.claims) > 0 {
		var payload []byte
		for _, c := range r.claims {
			payload = appendMessage(payload, 1, entry(c.name, protoText(c.value)))
		}
		dst = appendMessage(dst, 1, entry(jwtNamespace, appendMessage(nil, 1, entry("log", appendMessage(nil, 5, payload)))))
	}
	// Which dot ends the namespace isn't known: each may.
	var order []string
	values := map[string][]byte{}
	for _, m := range r.metadata {
		for i := 0; i < len(m.name); i++ {
			if m.name[i] != '.' {
				continue
			}
			ns := m.name[:i]
			if values[ns] == nil {
				order = append(order, ns)
			}
			values[ns] = appendMessage(values[ns], 1, entry(m.name[i+1:], protoText(m.value)))
		}
	}
	for _, ns := range order {
		dst = appendMessage(dst, 1, entry(ns, values[ns]))
	}
	return dst
}

func entry(key string, value []byte) []byte {
	return appendMessage(appendMessage(nil, 1, []byte(key)), 2, value)
}

func protoText(s string) []byte { return appendMessage(nil, 3, []byte(s)) }

func appendMessage(dst []byte, field uint64, b []byte) []byte {
	dst = binary.AppendUvarint(dst, field<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
