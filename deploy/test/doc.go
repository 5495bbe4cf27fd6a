// Package deploytest renders the Helm chart and the kustomize overlays, and
// compares them with what the tool makes. It is a Go module of its own, because of
// what Helm and kustomize need.
package deploytest
