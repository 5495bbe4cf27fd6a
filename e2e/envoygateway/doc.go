// Package envoygateway runs Envoy Gateway's own control plane on what
// `sluice manifest envoy-gateway` makes, and the Envoy that it starts.
package envoygateway
