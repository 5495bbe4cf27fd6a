// Package istio runs Istio's own control plane on what `sluice manifest istio`
// makes, and a real Envoy on what comes out of that.
package istio
