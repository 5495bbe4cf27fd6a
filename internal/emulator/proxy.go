package emulator

import (
	"slices"
	"sync"
	"time"
)

// proxy is what the workers of one Envoy have in common.
type proxy struct {
	config Config
	module *Module

	mu      sync.Mutex // guards all below, and everything in shared and metrics
	now     time.Time  // while it isn't real
	start   time.Time
	shared  shared
	metrics metrics
	workers []*VM
	plugin  string // the configuration that new workers start with
}

func newProxy(m *Module, c Config) *proxy {
	if c.Now.IsZero() {
		c.Now = defaultNow
	}
	return &proxy{config: c, module: m, now: c.Now, start: time.Now(), plugin: c.Plugin}
}

// clock is the wall clock.
func (p *proxy) clock() time.Time {
	if p.config.RealTime {
		return time.Now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// uptime is the steady clock, which Go's runtime wants above zero.
func (p *proxy) uptime() time.Duration {
	const before = time.Hour
	if p.config.RealTime {
		return before + time.Since(p.start)
	}
	return before + p.clock().Sub(p.config.Now)
}

func (p *proxy) setClock(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.After(p.now) {
		p.now = t
	}
}

// snapshot lists the workers, for a walk without the lock.
func (p *proxy) snapshot() []*VM {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.workers)
}

// knows reports whether a callout can go to the cluster.
func (p *proxy) knows(cluster string) bool {
	if p.config.Clusters == nil {
		return true
	}
	return slices.Contains(p.config.Clusters, cluster)
}
