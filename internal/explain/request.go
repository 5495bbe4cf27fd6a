package explain

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sluice/internal/source"
)

// Names in the dynamic metadata of jwt_authn. A payload's key is chosen by its
// configuration (payload_in_metadata).
const (
	jwtNamespace  = "envoy.filters.http.jwt_authn"
	defaultJWTKey = "jwt_payload"
)

// peerPort is the port of a made-up connection; 0 would mean that the proxy
// took the address from a header.
const peerPort = 40000

// Request is a request that was never sent: what a person types, or what a key
// in Redis tells of the requests behind it. Make it with NewRequest.
type Request struct {
	headers map[string]string // by lower-case name
	attrs   map[string][]byte // by dotted name
	meta    map[string]map[string]any
	ip      netip.Addr
}

// NewRequest makes a request as it arrives at a proxy with use_remote_address
// that its client 192.0.2.1 is connected to. target is a path or a URL.
func NewRequest(method, target string) (*Request, error) {
	scheme, host := "https", "example.com"
	if s, rest, ok := strings.Cut(target, "://"); ok {
		scheme, host = strings.ToLower(s), rest
		target = "/"
		if i := strings.IndexAny(host, "/?"); i >= 0 {
			host, target = host[:i], host[i:]
		}
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = host[i+1:]
		}
		if host == "" || !source.Token(s) {
			return nil, fmt.Errorf("%q has no scheme or no host", s+"://"+host)
		}
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	if strings.HasPrefix(target, "?") {
		target = "/" + target
	}
	if !strings.HasPrefix(target, "/") && target != "*" {
		return nil, fmt.Errorf("%q is neither a path, such as /api/order, nor a URL", target)
	}
	if !source.Token(method) {
		return nil, fmt.Errorf("%q is not a method", method)
	}
	r := &Request{
		headers: map[string]string{":method": method, ":path": target, ":authority": host, ":scheme": scheme},
		attrs:   map[string][]byte{}, meta: map[string]map[string]any{},
	}
	r.From(netip.AddrFrom4([4]byte{192, 0, 2, 1}))
	return r, nil
}

// From sets the address of the connection's other end.
func (r *Request) From(ip netip.Addr) {
	r.ip = ip
	r.attrs["source.address"] = []byte(netip.AddrPortFrom(ip, peerPort).String())
}

// AddHeader adds a header field. A repeated one is joined by a comma, cookies by
// a semicolon; Host names the host.
func (r *Request) AddHeader(name, value string) error {
	name = strings.ToLower(strings.TrimSpace(name))
	value = strings.TrimSpace(value)
	switch {
	case name == "host":
		r.headers[":authority"] = value
		return nil
	case !source.Token(name):
		return fmt.Errorf("%q is not a header's name", name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return fmt.Errorf("the value of header %s has a line's end in it", name)
	}
	if old, ok := r.headers[name]; ok {
		sep := ","
		if name == "cookie" {
			sep = "; "
		}
		value = old + sep + value
	}
	r.headers[name] = value
	return nil
}

// DropHeader removes a header, as `curl -H name:` does.
func (r *Request) DropHeader(name string) { delete(r.headers, strings.ToLower(name)) }

// SetAttribute sets one of Envoy's attributes, such as xds.route_name, in the
// form in which the proxy hands it out.
func (r *Request) SetAttribute(name, value string) error {
	s, err := source.Parse("attr:" + name)
	if err != nil {
		return err
	}
	forms := [][]byte{[]byte(value)}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		forms = append(forms, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	if b, err := strconv.ParseBool(value); err == nil {
		forms = append(forms, []byte{map[bool]byte{true: 1}[b]})
	}
	for _, f := range forms {
		r.attrs[name] = f
		var v source.View
		v.Reset(r, nil)
		if got, ok := s.Value(&v); ok && got == value {
			return nil
		}
	}
	delete(r.attrs, name)
	return fmt.Errorf("%q can't be a value of the attribute %s", value, name)
}

// SetRoute names the route that the proxy chose.
func (r *Request) SetRoute(name string) { r.attrs["xds.route_name"] = []byte(name) }

// SetFilterState sets what an earlier filter left.
func (r *Request) SetFilterState(name, value string) { r.attrs["filter_state."+name] = []byte(value) }

// SetMetadata sets a value of the dynamic metadata: a namespace, a dot and a key.
func (r *Request) SetMetadata(path string, value any) error {
	i := strings.LastIndexByte(path, '.')
	if i <= 0 || i == len(path)-1 {
		return fmt.Errorf("%q has no namespace and key, as in my.filter.tenant", path)
	}
	ns := path[:i]
	if r.meta[ns] == nil {
		r.meta[ns] = map[string]any{}
	}
	r.meta[ns][path[i+1:]] = value
	return r.storeMetadata()
}

// SetJWT sets the payload of a token that jwt_authn verified. key is the name
// that its configuration gives the payload, "" for any.
func (r *Request) SetJWT(key string, payload map[string]any) error {
	if key == "" {
		key = defaultJWTKey
	}
	if r.meta[jwtNamespace] == nil {
		r.meta[jwtNamespace] = map[string]any{}
	}
	r.meta[jwtNamespace][key] = payload
	return r.storeMetadata()
}

// storeMetadata writes the metadata as the proxy hands it out: a message with a
// map of Structs in field 1.
func (r *Request) storeMetadata() error {
	var out []byte
	for ns, fields := range r.meta {
		message, err := structpb.NewStruct(fields)
		if err != nil {
			return fmt.Errorf("metadata of %s: %w", ns, err)
		}
		b, err := proto.Marshal(message)
		if err != nil {
			return err
		}
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), ns)
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), b)
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), entry)
	}
	r.attrs["metadata"] = out
	return nil
}

// ParseValue is a value as a person types it: JSON where it is that, else text.
func ParseValue(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil && v != nil {
		return v
	}
	return text
}

// Header is source.Request.
func (r *Request) Header(name string) (string, bool) {
	v, ok := r.headers[name]
	if name == "x-forwarded-for" {
		// Envoy appends the address of its peer.
		if ok {
			v += ", "
		}
		return v + r.ip.String(), true
	}
	return v, ok
}

// Attribute is source.Request.
func (r *Request) Attribute(path string) ([]byte, bool) {
	name := strings.ReplaceAll(path, "\x00", ".")
	if v, ok := r.attrs[name]; ok {
		return v, true
	}
	text, ok := r.derived(name)
	return []byte(text), ok
}

// derived is an attribute that the proxy takes from the headers.
func (r *Request) derived(name string) (string, bool) {
	full := r.headers[":path"]
	path, query := source.SplitPath(full)
	switch name {
	case "request.method":
		return r.headers[":method"], true
	case "request.path":
		return full, true
	case "request.url_path":
		return path, true
	case "request.query":
		return query, query != ""
	case "request.host":
		return r.headers[":authority"], true
	case "request.scheme":
		return r.headers[":scheme"], true
	case "request.useragent":
		return r.headers["user-agent"], r.headers["user-agent"] != ""
	case "request.referer":
		return r.headers["referer"], r.headers["referer"] != ""
	case "request.id":
		return r.headers["x-request-id"], r.headers["x-request-id"] != ""
	}
	return "", false
}

// Set gives the request a value for a source, as far as one source tells what a
// request is like; it reports whether it does.
func (r *Request) Set(s source.Source, value string) bool {
	kind, arg, _ := strings.Cut(s.String(), ":")
	switch kind {
	case "header":
		r.headers[arg] = value
	case "cookie":
		return r.AddHeader("cookie", arg+"="+value) == nil
	case "method":
		r.headers[":method"] = value
	case "host":
		r.headers[":authority"] = value
	case "path":
		if arg != "" {
			return false
		}
		r.headers[":path"] = value
	case "route":
		r.SetRoute(value)
	case "filter_state":
		r.SetFilterState(arg, value)
	case "attr":
		return r.SetAttribute(arg, value) == nil
	case "metadata":
		return r.SetMetadata(arg, ParseValue(value)) == nil
	case "jwt":
		if i := strings.LastIndexByte(arg, '/'); i >= 0 {
			arg = arg[i+1:]
		}
		return r.SetJWT("", map[string]any{arg: ParseValue(value)}) == nil
	case "ip":
		ip, err := netip.ParseAddr(value)
		if err != nil {
			return false
		}
		r.From(ip)
	default:
		return false
	}
	return true
}
