// Package envoyconfig edits an Envoy configuration. Its input is the project's
// own envoy.yaml, so that tests and tools run what users are given, with other
// ports, limits or Redis.
package envoyconfig

import (
	"errors"
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// Names of what envoy.yaml defines.
const (
	Gateway   = "gateway"    // the listener that requests come to
	Sample    = "sample"     // the listener that stands for an upstream
	Pipe      = "redis_pipe" // the cluster that the plugin calls, which leads to Redis
	Upstream  = "upstream"   // the cluster that requests are sent on to
	Plugin    = "sluice"     // the plugin's HTTP filter
	RouterURL = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
)

// M is a YAML mapping.
type M = map[string]any

// Config is one Envoy configuration. Edits that don't find what they change
// are remembered, and YAML reports them.
type Config struct {
	root M
	errs []error
}

// Load reads a configuration from a file.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads a configuration from YAML or JSON.
func Parse(text []byte) (*Config, error) {
	c := &Config{}
	if err := yaml.Unmarshal(text, &c.root); err != nil {
		return nil, err
	}
	if c.root == nil {
		return nil, errors.New("an empty configuration")
	}
	return c, nil
}

// YAML is the edited configuration, or what went wrong while it was edited.
func (c *Config) YAML() ([]byte, error) {
	if err := errors.Join(c.errs...); err != nil {
		return nil, fmt.Errorf("edit the Envoy configuration: %w", err)
	}
	return yaml.MarshalWithOptions(c.root, yaml.UseLiteralStyleIfMultiline(true))
}

func (c *Config) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// at walks down from v: a string picks a field, a number an item. It returns
// nil where there is none.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(M)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// named finds the item of a list whose name is name.
func named(list any, name string) M {
	items, _ := list.([]any)
	for _, item := range items {
		if m, ok := item.(M); ok && m["name"] == name {
			return m
		}
	}
	return nil
}

func (c *Config) listener(name string) M {
	l := named(at(c.root, "static_resources", "listeners"), name)
	if l == nil {
		c.fail("no listener %s", name)
	}
	return l
}

func (c *Config) cluster(name string) M {
	cl := named(at(c.root, "static_resources", "clusters"), name)
	if cl == nil {
		c.fail("no cluster %s", name)
	}
	return cl
}

// manager is the HTTP connection manager of a listener's first filter chain.
func (c *Config) manager(listener string) M {
	m, _ := at(c.listener(listener), "filter_chains", 0, "filters", 0, "typed_config").(M)
	if m == nil {
		c.fail("listener %s has no HTTP connection manager", listener)
	}
	return m
}

// filter is the configuration of a gateway's HTTP filter.
func (c *Config) filter(name string) M {
	f, _ := at(named(at(c.manager(Gateway), "http_filters"), name), "typed_config").(M)
	if f == nil {
		c.fail("no HTTP filter %s", name)
	}
	return f
}
