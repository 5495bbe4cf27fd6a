// Package capabilities lists what the compiled plugin needs of its host, for a
// proxy that allows a plugin only what is named. It stands beside the ABI that
// it is about, and isn't part of the plugin.
package capabilities

// Capability is a host call or a callback, under the name that Envoy's
// capability_restriction_config takes.
type Capability struct {
	Name string
	// Why says what the plugin needs it for.
	Why string
}

// Needed lists them: those left out are refused to the plugin, and it works.
// A test compares the list with the compiled module, another runs it in Envoy.
func Needed() []Capability {
	var all []Capability
	for _, group := range [][]Capability{callbacks, calls, wasi} {
		all = append(all, group...)
	}
	return all
}

// Higress lists what the module for Higress needs.
func Higress() []Capability { return append(Needed(), higress...) }

// Names are the names of those.
func Names() []string {
	var names []string
	for _, c := range Needed() {
		names = append(names, c.Name)
	}
	return names
}
