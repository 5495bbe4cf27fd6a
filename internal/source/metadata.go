package source

import (
	"errors"
	"strings"
)

func init() {
	register(Kind{Name: "metadata", Sep: ':', Arg: "NS.KEY", Example: "metadata:envoy.filters.http.ext_authz.tenant",
		Doc:   "A value of the request's dynamic metadata: a namespace and a key in it, nested ones with dots.",
		Parse: parseMetadata})
}

// metadataAttribute is the whole of the dynamic metadata. Only so does Envoy
// keep the values' types: of a single value it gives bytes that may be a text
// or a number.
const metadataAttribute = "metadata"

// metadata is a value of the dynamic metadata.
type metadata struct{ path string }

// maxDots bounds how many ways there are to split a dotted name.
const maxDots = 12

func parseMetadata(arg string) (Source, error) {
	if n := strings.Count(arg, "."); n == 0 || n > maxDots || arg[0] == '.' || arg[len(arg)-1] == '.' {
		return nil, errors.New("metadata is named by a namespace, a dot and a key, such as metadata:my.filter.tenant")
	}
	return metadata{arg}, nil
}

func (m metadata) String() string { return "metadata:" + m.path }

// Value looks for the longest namespace that the path begins with and that has
// the rest.
func (m metadata) Value(v *View) (string, bool) {
	all := v.Metadata()
	if len(all) == 0 {
		return "", false
	}
	for i := strings.LastIndexByte(m.path, '.'); i > 0; i = strings.LastIndexByte(m.path[:i], '.') {
		if ns, ok := namespace(all, m.path[:i]); ok {
			if val, ok := structField(ns, m.path[i+1:]); ok {
				return val.text()
			}
		}
	}
	return "", false
}

// Attributes lists the metadata.
func (metadata) Attributes(*Options) []string { return []string{metadataAttribute} }
