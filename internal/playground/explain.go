package playground

import (
	"context"
	"net/netip"

	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/look"
	"sluice/internal/operate"
)

// explained says what becomes of a request: by the engine that the plugin runs,
// under the overrides that hold now, with what Redis would answer. Where Redis
// can't be asked, the rest is said all the same.
func (s *Server) explained(ctx context.Context, e *engine.Engine, a *Ask) (*explain.Explanation, error) {
	r, err := a.request()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	p := e.Policy()
	op := operate.Operator{Redis: s.o.Redis, Prefix: p.Redis.Prefix, Policy: p}
	f, err := op.Load(ctx)
	if err != nil {
		return explain.Explain(e, r, nowUS()), nil
	}
	x := explain.Explain(f.Engine, r, f.Now.UnixMicro())
	if err := x.Ask(ctx, look.New(s.o.Redis), false); err != nil {
		x.Live = nil
	}
	return x, nil
}

// request is the typed request as it arrives at a proxy with use_remote_address.
func (a *Ask) request() (*explain.Request, error) {
	host := a.Host
	if host == "" {
		host = "127.0.0.1"
	}
	r, err := explain.NewRequest(a.Method, a.Scheme+"://"+host+a.Path)
	if err != nil {
		return nil, err
	}
	peer := a.IP
	if !peer.IsValid() {
		peer = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	r.From(peer)
	for _, h := range a.Headers {
		if err := r.AddHeader(h.Name, h.Value); err != nil {
			return nil, err
		}
	}
	return r, nil
}
