// Package source is the one vocabulary by which a configuration names a part of
// a request: key, match, except, overrides, cost and rate all use it.
package source

// Request is what sources read from: the plugin's request, the one typed into
// explain, or a line of an access log.
type Request interface {
	// Header returns a request header's value by its lower-case name, pseudo
	// headers included (":path"); a repeated header is its values joined by a
	// comma. An empty value is a missing one.
	Header(name string) (string, bool)
	// Attribute returns an Envoy attribute's raw bytes; path's elements are
	// joined by NUL. It may cost a host call.
	Attribute(path string) ([]byte, bool)
}
