package envoyconfig

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Ports maps a port that a configuration names to the one to use instead.
type Ports map[int]int

// MovePorts changes ports wherever the configuration names them: where
// something listens and where something connects to.
func (c *Config) MovePorts(ports Ports) {
	walk(c.root, func(m M) {
		port, ok := number(m["port_value"])
		if to, moved := ports[port]; ok && moved {
			m["port_value"] = to
		}
	})
}

// PortsUsed lists every port that the configuration names, each once, in order.
func (c *Config) PortsUsed() []int {
	var ports []int
	walk(c.root, func(m M) {
		if port, ok := number(m["port_value"]); ok {
			ports = append(ports, port)
		}
	})
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Listens lists the ports that Envoy itself binds, admin included.
func (c *Config) Listens() []int {
	var ports []int
	add := func(v any) {
		if port, ok := number(at(v, "address", "socket_address", "port_value")); ok {
			ports = append(ports, port)
		}
	}
	add(c.root["admin"])
	listeners, _ := at(c.root, "static_resources", "listeners").([]any)
	for _, l := range listeners {
		add(l)
	}
	return ports
}

// Listen sets the port of a listener; 0 lets the kernel choose one.
func (c *Config) Listen(listener string, port int) {
	a, _ := at(c.listener(listener), "address", "socket_address").(M)
	if a == nil {
		c.fail("listener %s has no socket address", listener)
		return
	}
	a["port_value"] = port
}

// AdminPort sets the port of the admin interface; 0 lets the kernel choose one.
func (c *Config) AdminPort(port int) {
	a, _ := at(c.root, "admin", "address", "socket_address").(M)
	if a == nil {
		c.fail("no admin address")
		return
	}
	a["port_value"] = port
}

// Endpoint points a cluster at one host:port.
func (c *Config) Endpoint(cluster, addr string) {
	address, err := socketAddress(addr)
	if err != nil {
		c.fail("endpoint of %s: %w", cluster, err)
		return
	}
	c.setEndpoint(cluster, address)
}

func (c *Config) setEndpoint(cluster string, address M) {
	if cl := c.cluster(cluster); cl != nil {
		cl["load_assignment"] = assignment(cluster, address)
	}
}

func assignment(cluster string, addresses ...M) M {
	var endpoints []any
	for _, a := range addresses {
		endpoints = append(endpoints, M{"endpoint": M{"address": a}})
	}
	return M{"cluster_name": cluster, "endpoints": []any{M{"lb_endpoints": endpoints}}}
}

func socketAddress(addr string) (M, error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("port of %q: %w", addr, err)
	}
	return M{"socket_address": M{"address": host, "port_value": port}}, nil
}

func internalAddress(listener string) M {
	return M{"envoy_internal_address": M{"server_listener_name": listener}}
}

// number reads a YAML number, whatever type it was decoded to.
func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case uint64:
		return int(v), true
	case float64:
		return int(v), true
	}
	return 0, false
}

// walk calls f for every mapping below v, v included.
func walk(v any, f func(M)) {
	switch v := v.(type) {
	case M:
		f(v)
		for _, item := range v {
			walk(item, f)
		}
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	}
}
