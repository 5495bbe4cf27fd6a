//go:build higress

package plugin

import (
	"sluice/internal/config"
	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/rules"
)

// ruledVM is a VM whose configurations may hold other ones for some routes, domains
// or services, as Higress's do.
type ruledVM struct{ *VM }

// NewPluginContext makes one configuration's context.
func (vm ruledVM) NewPluginContext(id uint32) goabi.Plugin {
	return &ruled{vm: vm.VM, id: id}
}

// ruled is one configuration of Higress's: a worker for the default, and one for
// each rule. They share the proxy's connections.
type ruled struct {
	vm      *VM
	id      uint32
	set     *rules.Set
	workers []*worker // those of set.Rules, in order
	rest    *worker   // for other requests; nil: no limit applies to them
	tickMS  uint32
}

// OnPluginStart loads all configurations, or none: with an error in one, each error
// is logged and what runs stays.
func (p *ruled) OnPluginStart(int) bool {
	whole := &worker{vm: p.vm, host: p.vm.host, id: p.id}
	set, errs := rules.Split(whole.configuration())
	if len(errs) > 0 {
		whole.metrics.defineGlobal(p.vm.host)
		whole.refuse(errs)
		return false
	}
	p.set = set
	ok := true
	for i := range set.Rules {
		w := p.newWorker(set.Rules[i].Config, set.Rules[i].Path+".")
		p.workers = append(p.workers, w)
		ok = w.OnPluginStart(0) && ok
	}
	if set.Default != nil {
		p.rest = p.newWorker(set.Default, "")
		ok = p.rest.OnPluginStart(0) && ok
	}
	if ok = ok && p.agree(); !ok {
		for _, w := range p.all() {
			p.vm.forgetCalls(w)
		}
		return false
	}
	return true
}

// newWorker makes the worker of one configuration.
func (p *ruled) newWorker(text []byte, path string) *worker {
	h := &ruleHost{Host: p.vm.host, p: p, text: text}
	return &worker{vm: p.vm, host: h, id: p.id, path: path}
}

// all are the workers of this configuration.
func (p *ruled) all() []*worker {
	if p.rest == nil {
		return p.workers
	}
	return append(p.workers[:len(p.workers):len(p.workers)], p.rest)
}

// agree reports whether all configurations log in alike wherever they call the same
// cluster: how that is done is the proxy's, once for a cluster.
func (p *ruled) agree() bool {
	all := p.all()
	for i, w := range all {
		for _, o := range all[:i] {
			a, b := &w.policy.Redis, &o.policy.Redis
			if a.Link != config.HostLink || b.Link != config.HostLink || a.Cluster != b.Cluster {
				continue
			}
			if a.Username != b.Username || a.Password != b.Password || a.PasswordEnv != b.PasswordEnv || a.DB != b.DB {
				w.refuse(config.Errors{{Path: "redis", Message: "another user, password or database than other rules have for the cluster " + a.Cluster + ": the proxy keeps one for a cluster"}})
				return false
			}
		}
	}
	return true
}

// NewHttpContext makes one request's context.
func (p *ruled) NewHttpContext(id uint32) goabi.Stream { return &routed{p: p, id: id} }

// OnTick is every worker's.
func (p *ruled) OnTick() {
	for _, w := range p.all() {
		w.OnTick()
	}
}

// OnPluginDone is every worker's.
func (p *ruled) OnPluginDone() bool {
	for _, w := range p.all() {
		w.OnPluginDone()
	}
	return true
}

// ruleHost is the proxy as one of several workers sees it.
type ruleHost struct {
	host.Host
	p      *ruled
	text   []byte
	tickMS uint32
}

func (h *ruleHost) PluginConfiguration() ([]byte, host.Status) { return h.text, host.OK }

// SetTick sets the shortest of the periods that the workers ask for.
func (h *ruleHost) SetTick(ms uint32) host.Status {
	h.tickMS = ms
	for _, w := range h.p.all() {
		if o, _ := w.host.(*ruleHost); o != nil && o.tickMS != 0 {
			ms = min(ms, o.tickMS)
		}
	}
	if ms == h.p.tickMS {
		return host.OK
	}
	h.p.tickMS = ms
	return h.Host.SetTick(ms)
}

// routed is a request, which belongs to a worker once its route is known.
type routed struct {
	p     *ruled
	id    uint32
	inner goabi.Stream // nil: no limit applies
	raw   host.Headers
}

// OnHttpRequestHeaders finds the request's rule.
func (r *routed) OnHttpRequestHeaders(n int, end bool) goabi.Action {
	w := r.p.rest
	if len(r.p.workers) > 0 {
		if i := r.find(); i >= 0 {
			w = r.p.workers[i]
		}
	}
	if w == nil {
		return goabi.Continue
	}
	r.inner = w.NewHttpContext(r.id)
	return r.inner.OnHttpRequestHeaders(n, end)
}

// find is the request's rule, -1 for none.
func (r *routed) find() int {
	b, s := r.p.vm.host.HeaderPairs(host.RequestHeaders)
	if s != host.OK {
		return -1
	}
	r.raw = host.NewHeaders(b)
	defer func() { r.raw = host.Headers{} }()
	return r.p.set.Find(r)
}

// Host is rules.Request.
func (r *routed) Host() string { return r.header(":authority") }

// Consumer is rules.Request.
func (r *routed) Consumer() string { return r.header("x-mse-consumer") }

func (r *routed) header(name string) string {
	v, _ := r.raw.First(name)
	return v
}

// Route is rules.Request.
func (r *routed) Route() string { return r.property("route_name") }

// Service is rules.Request.
func (r *routed) Service() string { return r.property("cluster_name") }

func (r *routed) property(name string) string {
	v, s := r.p.vm.host.Property(name)
	if s != host.OK {
		return ""
	}
	return string(v)
}

// The rest of a request is its worker's.

func (r *routed) OnHttpRequestBody(n int, end bool) goabi.Action {
	if r.inner == nil {
		return goabi.Continue
	}
	return r.inner.OnHttpRequestBody(n, end)
}

func (r *routed) OnHttpResponseHeaders(n int, end bool) goabi.Action {
	if r.inner == nil {
		return goabi.Continue
	}
	return r.inner.OnHttpResponseHeaders(n, end)
}

func (r *routed) OnHttpResponseBody(n int, end bool) goabi.Action {
	if r.inner == nil {
		return goabi.Continue
	}
	return r.inner.OnHttpResponseBody(n, end)
}

func (r *routed) OnHttpResponseTrailers(n int) goabi.Action {
	if r.inner == nil {
		return goabi.Continue
	}
	return r.inner.OnHttpResponseTrailers(n)
}

func (r *routed) OnHttpStreamDone() {
	if r.inner != nil {
		r.inner.OnHttpStreamDone()
	}
}
