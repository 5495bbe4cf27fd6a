package envoyconfig

import "slices"

// RemoveListener takes a listener away.
func (c *Config) RemoveListener(name string) {
	if c.listener(name) == nil {
		return
	}
	static, _ := c.root["static_resources"].(M)
	listeners, _ := static["listeners"].([]any)
	static["listeners"] = slices.DeleteFunc(listeners, func(l any) bool { return at(l, "name") == name })
}

// OwnPorts keeps other programs from sharing the ports that the listeners bind:
// otherwise each worker opens the port for itself, and so may a second Envoy, which
// then gets every other connection.
func (c *Config) OwnPorts() {
	static, _ := c.root["static_resources"].(M)
	listeners, _ := static["listeners"].([]any)
	for _, l := range listeners {
		if m, ok := l.(M); ok && at(m, "address", "socket_address") != nil {
			m["enable_reuse_port"] = false
		}
	}
}

func (c *Config) addListener(l M) { c.add("listeners", l) }
func (c *Config) addCluster(l M)  { c.add("clusters", l) }

func (c *Config) add(kind string, item M) {
	static, _ := c.root["static_resources"].(M)
	if static == nil {
		c.fail("no static_resources")
		return
	}
	list, _ := static[kind].([]any)
	static[kind] = append(list, any(item))
}
