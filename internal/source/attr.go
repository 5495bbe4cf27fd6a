package source

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"unsafe"
)

func init() {
	register(Kind{Name: "attr", Sep: ':', Arg: "NAME", Example: "attr:connection.uri_san_peer_certificate",
		Doc:   "Any of Envoy's attributes, by its dotted name.",
		Parse: parseAttr})
}

// attr is one of Envoy's attributes.
type attr struct {
	name string
	path string // elements joined by NUL
	kind attrKind
}

// attrKind is how an attribute's value is laid out: proxies hand out the bytes
// without saying so.
type attrKind byte

const (
	textAttr attrKind = iota
	intAttr           // 8 bytes, little endian
	boolAttr          // 1 byte
)

// attrKinds has the attributes that aren't text.
var attrKinds = map[string]attrKind{
	"request.size": intAttr, "request.total_size": intAttr, "request.time": intAttr, "request.duration": intAttr,
	"response.code": intAttr, "response.grpc_status": intAttr, "response.flags": intAttr,
	"response.size": intAttr, "response.total_size": intAttr, "response.backend_latency": intAttr,
	"source.port": intAttr, "destination.port": intAttr, "upstream.port": intAttr,
	"upstream.request_attempt_count": intAttr,
	"connection.id":                  intAttr, "connection_id": intAttr, "connection.mtls": boolAttr,
	"xds.listener_direction": intAttr, "listener_direction": intAttr,
}

// attrMaps are the attributes that hold more than one value.
var attrMaps = map[string]string{
	"request.headers": "header:NAME", "metadata": "metadata:NS.KEY", "filter_state": "filter_state:NAME",
}

func parseAttr(arg string) (Source, error) {
	for m, better := range attrMaps {
		if arg == m || strings.HasPrefix(arg, m+".") {
			return nil, errors.New("use " + better + " instead of attr:" + arg)
		}
	}
	for _, e := range strings.Split(arg, ".") {
		if e == "" || strings.IndexByte(e, 0) >= 0 {
			return nil, errors.New("\"" + arg + "\" is not an attribute's name")
		}
	}
	return attr{arg, strings.Join(strings.Split(arg, "."), "\x00"), attrKinds[arg]}, nil
}

func (a attr) String() string { return "attr:" + a.name }

func (a attr) Value(v *View) (string, bool) {
	switch a.kind {
	case intAttr:
		raw, ok := v.Attribute(a.path)
		if !ok || len(raw) != 8 {
			return "", false
		}
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(raw)), 10), true
	case boolAttr:
		raw, ok := v.Attribute(a.path)
		if !ok || len(raw) != 1 {
			return "", false
		}
		return strconv.FormatBool(raw[0] != 0), true
	}
	return attributeText(v, a.path)
}

// Attributes lists the attribute.
func (a attr) Attributes(*Options) []string { return []string{a.path} }

// attributeText is an attribute whose bytes are its text.
func attributeText(v *View, path string) (string, bool) {
	raw, ok := v.Attribute(path)
	if !ok || len(raw) == 0 {
		return "", false
	}
	return unsafe.String(&raw[0], len(raw)), true
}
