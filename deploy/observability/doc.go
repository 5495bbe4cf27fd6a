// Package observability holds what operators load into their own tools: alert
// rules, a scrape configuration, a Grafana dashboard and access-log formats.
// docs/observability.md says what each is for.
package observability

//go:generate go run -C dashboard . ../dashboard.json
