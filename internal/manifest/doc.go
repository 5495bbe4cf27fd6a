// Package manifest makes what a platform takes out of one sluice configuration:
// a whole Envoy configuration, or the Kubernetes objects of Istio, Envoy Gateway
// or Higress. The pipe to Redis comes from envoy.yaml, through
// internal/stack/envoyconfig, so that every target gets the one that tests run.
package manifest
