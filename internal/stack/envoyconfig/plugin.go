package envoyconfig

import "slices"

const stringValue = "type.googleapis.com/google.protobuf.StringValue"

// Configure gives the plugin another configuration, JSON.
func (c *Config) Configure(json string) {
	if p := c.plugin(); p != nil {
		p["configuration"] = M{"@type": stringValue, "value": json}
	}
}

// Module sets the path of the plugin's compiled module.
func (c *Config) Module(path string) {
	if vm := c.vm(); vm != nil {
		vm["code"] = M{"local": M{"filename": path}}
	}
}

// PassEnv lets the plugin see these variables of Envoy's environment.
func (c *Config) PassEnv(names ...string) {
	if vm := c.vm(); vm != nil {
		vm["environment_variables"] = M{"host_env_keys": names}
	}
}

func (c *Config) plugin() M {
	p, _ := at(c.filter(Plugin), "config").(M)
	if p == nil {
		c.fail("filter %s has no plugin config", Plugin)
	}
	return p
}

func (c *Config) vm() M {
	vm, _ := at(c.plugin(), "vm_config").(M)
	if vm == nil {
		c.fail("the plugin has no vm_config")
	}
	return vm
}

// InsertFilter puts an HTTP filter of the gateway in front of the one named
// before.
func (c *Config) InsertFilter(before, name string, typedConfig M) {
	m := c.manager(Gateway)
	filters, _ := at(m, "http_filters").([]any)
	i := slices.IndexFunc(filters, func(f any) bool { return at(f, "name") == before })
	if i < 0 {
		c.fail("no HTTP filter %s to put %s in front of", before, name)
		return
	}
	m["http_filters"] = slices.Insert(filters, i, any(M{"name": name, "typed_config": typedConfig}))
}

// RemovePlugin leaves the gateway without a limiter: a benchmark's base line.
func (c *Config) RemovePlugin() {
	m := c.manager(Gateway)
	if m == nil {
		return
	}
	filters, _ := at(m, "http_filters").([]any)
	m["http_filters"] = slices.DeleteFunc(filters, func(f any) bool { return at(f, "name") == Plugin })
}

// Manager changes a field of a listener's HTTP connection manager; nil removes
// it.
func (c *Config) Manager(listener, field string, value any) {
	m := c.manager(listener)
	if m == nil {
		return
	}
	if value == nil {
		delete(m, field)
		return
	}
	m[field] = value
}

// Cluster changes a field of a cluster.
func (c *Config) Cluster(cluster, field string, value any) {
	if cl := c.cluster(cluster); cl != nil {
		cl[field] = value
	}
}

// AccessLog writes one line a request of the gateway to the file at path.
func (c *Config) AccessLog(path, format string) {
	c.Manager(Gateway, "access_log", []any{M{
		"name": "envoy.access_loggers.file",
		"typed_config": M{
			"@type":      "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
			"path":       path,
			"log_format": M{"text_format_source": M{"inline_string": format + "\n"}},
		},
	}})
}

// Top changes a field of the whole configuration; nil removes it.
func (c *Config) Top(field string, value any) {
	if value == nil {
		delete(c.root, field)
		return
	}
	c.root[field] = value
}

// Restrict allows the plugin these host calls and callbacks, and no others.
func (c *Config) Restrict(capabilities []string) {
	p := c.plugin()
	if p == nil {
		return
	}
	allowed := M{}
	for _, name := range capabilities {
		allowed[name] = M{}
	}
	p["capability_restriction_config"] = M{"allowed_capabilities": allowed}
}
