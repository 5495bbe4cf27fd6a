package envoyconfig

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Adopt adds a copy of another configuration's gateway as a listener of this
// name, on a port of its own: one Envoy then has both. What from gained besides,
// such as clusters, is not taken.
func (c *Config) Adopt(name string, from *Config) {
	if _, err := from.YAML(); err != nil {
		c.fail("adopt %s: %w", name, err)
		return
	}
	l, err := clone(from.listener(Gateway))
	if err != nil {
		c.fail("adopt %s: %w", name, err)
		return
	}
	l["name"] = name
	c.addListener(l)
	c.Listen(name, 0)
}

// AddCluster adds a cluster.
func (c *Config) AddCluster(cluster M) { c.addCluster(cluster) }

// PluginFilter is a copy of the plugin's filter, for InsertFilter.
func (c *Config) PluginFilter() M {
	f, err := clone(c.filter(Plugin))
	if err != nil {
		c.fail("copy the plugin's filter: %w", err)
	}
	return f
}

// PluginFrom has Envoy watch file for the plugin's filter, as Istio and most
// manifests hand it over; PluginDiscovery makes what belongs into the file.
func (c *Config) PluginFrom(file string) {
	f := named(at(c.manager(Gateway), "http_filters"), Plugin)
	if f == nil {
		c.fail("no HTTP filter %s", Plugin)
		return
	}
	if c.root["node"] == nil { // Envoy wants one where it watches for anything
		c.root["node"] = M{"id": "gateway", "cluster": "gateways"}
	}
	delete(f, "typed_config")
	f["config_discovery"] = M{
		"config_source": M{"resource_api_version": "V3", "path_config_source": M{"path": file}},
		"type_urls":     []any{"type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"},
	}
}

// PluginDiscovery is the plugin's filter as a file that Envoy watches. Envoy
// notices a new file only when it is moved over the old one.
func (c *Config) PluginDiscovery() ([]byte, error) {
	filter := c.PluginFilter()
	if _, err := c.YAML(); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(M{"resources": []any{M{
		"@type":        "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
		"name":         Plugin,
		"typed_config": filter,
	}}})
	if err != nil {
		return nil, fmt.Errorf("write the plugin's filter: %w", err)
	}
	return text, nil
}

// AlsoListenersFrom has Envoy watch file for listeners besides those that the
// configuration holds.
func (c *Config) AlsoListenersFrom(file string) {
	c.root["node"] = M{"id": "gateway", "cluster": "gateways"}
	c.root["dynamic_resources"] = M{
		"lds_config": M{"resource_api_version": "V3", "path_config_source": M{"path": file}},
	}
}

// clone copies a mapping and all below it.
func clone(m M) (M, error) {
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, err
	}
	var c M
	err = yaml.Unmarshal(text, &c)
	return c, err
}

// ListenerField changes a field of a listener.
func (c *Config) ListenerField(listener, field string, value any) {
	if l := c.listener(listener); l != nil {
		l[field] = value
	}
}

// FilterChain changes a field of a listener's first filter chain.
func (c *Config) FilterChain(listener, field string, value any) {
	chain, _ := at(c.listener(listener), "filter_chains", 0).(M)
	if chain == nil {
		c.fail("listener %s has no filter chain", listener)
		return
	}
	chain[field] = value
}
