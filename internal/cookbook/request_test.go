package cookbook

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"sluice/internal/emulator"
)

// jwtNamespace is where jwt_authn stores what it verified; payloadKey is the
// name that its configuration gives the payload.
const (
	jwtNamespace = "envoy.filters.http.jwt_authn"
	payloadKey   = "verified"
)

// send sends one of a step's requests, as a proxy with use_remote_address shows
// it to the plugin.
func (p *player) send(s *Step) *emulator.Request {
	p.t.Helper()
	method, path, ok := strings.Cut(s.Request, " ")
	if !ok {
		p.fatalf(s, "not a method and a path")
	}
	host, ip := s.Host, s.IP
	if host == "" {
		host = "example.com"
	}
	if ip == "" {
		ip = "192.0.2.1"
	}
	h := emulator.Headers{{":method", method}, {":path", path}, {":authority", host}, {":scheme", "https"}}
	forwarded := ip
	for _, f := range pairs(s.Headers) {
		if strings.EqualFold(f[0], "x-forwarded-for") {
			forwarded = f[1] + ", " + ip
			continue
		}
		h = append(h, f)
	}
	h = append(h, [2]string{"x-forwarded-for", forwarded})
	o := []emulator.Option{emulator.Property([]byte(net.JoinHostPort(ip, "40000")), "source", "address")}
	if s.Route != "" {
		o = append(o, emulator.Property([]byte(s.Route), "xds", "route_name"))
	}
	for name, value := range s.State {
		o = append(o, emulator.Property([]byte(value), "filter_state", name))
	}
	for name, value := range s.Attrs {
		o = append(o, emulator.Property([]byte(value), strings.Split(name, ".")...))
	}
	if m := p.metadata(s); m != nil {
		o = append(o, emulator.Property(m, "metadata"))
	}
	if s.Body > 0 {
		if !s.Chunked {
			h = append(h, [2]string{"content-length", strconv.Itoa(s.Body)})
		}
		o = append(o, emulator.Body(make([]byte, s.Body)))
	}
	return p.vm.Request(h, o...)
}

// metadata is the step's dynamic metadata as a proxy serialises it: a map of
// Structs in field 1.
func (p *player) metadata(s *Step) []byte {
	p.t.Helper()
	all := maps.Clone(s.Metadata)
	if s.JWT != nil {
		if all == nil {
			all = map[string]any{}
		}
		all[jwtNamespace] = map[string]any{payloadKey: s.JWT}
	}
	var out []byte
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		fields, ok := all[namespace].(map[string]any)
		if !ok {
			p.fatalf(s, "metadata of %s is not an object", namespace)
		}
		message, err := structpb.NewStruct(fields)
		if err != nil {
			p.fatalf(s, "metadata: %v", err)
		}
		b, err := proto.Marshal(message)
		if err != nil {
			p.fatalf(s, "metadata: %v", err)
		}
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), namespace)
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), b)
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), entry)
	}
	return out
}

// pairs are header fields in the order of their names.
func pairs(h map[string]Values) emulator.Headers {
	var out emulator.Headers
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, [2]string{name, v})
		}
	}
	return out
}
