// Package version is the one place that says which version of sluice this is.
// It is part of the module, so it knows nothing else.
package version

// Version is a semantic version, without a v. A release's build sets it:
//
//	-ldflags '-X sluice/internal/version.Version=1.2.3'
//
// What is written here is the next version that is worked on.
var Version = "0.1.0-dev"

// MinEnvoyMinor is the oldest Envoy 1.x that runs modules of standard Go.
const MinEnvoyMinor = 33
