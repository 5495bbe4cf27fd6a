// Package imagepull has the plugin's image pulled by the code that Istio's agent
// pulls it with. It is a Go module of its own, because of what that code needs.
package imagepull
