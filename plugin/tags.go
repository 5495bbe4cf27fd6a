package plugin

import (
	"sluice/internal/config"
	"sluice/internal/host"
	"sluice/internal/source"
)

// tagHeaders lists the headers that limits mark requests with.
func tagHeaders(p *config.Policy) []string {
	var names []string
	for _, l := range p.Limits {
		if l.Tag != nil {
			names = append(names, l.Tag.Header)
		}
	}
	return names
}

// removeTags takes from a request what only the plugin may set: a caller could
// mark itself otherwise.
func (w *worker) removeTags(r *request) {
	for _, name := range w.tags {
		if _, ok := r.headers.First(name); ok {
			w.host.RemoveHeader(host.RequestHeaders, name)
		}
	}
}

// setTags marks an admitted request for the limits that would have rejected it.
// The proxy then chooses the route again, so routes may match on the mark.
func (w *worker) setTags(r *request) {
	if len(w.tags) == 0 || r.decision.Verdict.AtUS == 0 {
		return
	}
	for i := range r.decision.Plan.Charges {
		if c := &r.decision.Plan.Charges[i]; c.Tags() {
			w.host.ReplaceHeader(host.RequestHeaders, c.Limit.Tag.Header, c.Limit.Tag.Value)
		}
	}
}

// noteClient counts a client address that could not be found, and says once what
// is probably wrong.
func (w *worker) noteClient(v *source.View) {
	if !v.ClientUnknown() {
		return
	}
	w.metrics.clientUnknown.add(1)
	if !w.clientWarned {
		w.clientWarned = true
		w.host.Log(host.Warn, "sluice: the client's address is unknown: set use_remote_address: true on the listener, or client_ip in the configuration; such requests count as missing")
	}
}
