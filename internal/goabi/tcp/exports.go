//go:build wasip1

package tcp

import "sluice/internal/goabi"

// Connection is a goabi.Stream that takes the callbacks of a connection. peer says
// who closed it, as the host numbers them.
type Connection interface {
	OnNewConnection() goabi.Action
	OnDownstreamData(size int, end bool) goabi.Action
	OnUpstreamData(size int, end bool) goabi.Action
	OnDownstreamClose(peer uint32)
	OnUpstreamClose(peer uint32)
}

func connection(id uint32) (Connection, bool) {
	c, ok := goabi.StreamOf(id).(Connection)
	return c, ok
}

//go:wasmexport proxy_on_new_connection
func onNewConnection(id uint32) (action uint32) {
	defer goabi.Recover("proxy_on_new_connection", id, &action)
	if c, ok := connection(id); ok {
		action = uint32(c.OnNewConnection())
	}
	return action
}

//go:wasmexport proxy_on_downstream_data
func onDownstreamData(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_downstream_data", id, &action)
	if c, ok := connection(id); ok {
		action = uint32(c.OnDownstreamData(int(size), endOfStream != 0))
	}
	return action
}

//go:wasmexport proxy_on_upstream_data
func onUpstreamData(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_upstream_data", id, &action)
	if c, ok := connection(id); ok {
		action = uint32(c.OnUpstreamData(int(size), endOfStream != 0))
	}
	return action
}

//go:wasmexport proxy_on_downstream_connection_close
func onDownstreamConnectionClose(id, peer uint32) {
	defer goabi.Recover("proxy_on_downstream_connection_close", id, nil)
	if c, ok := connection(id); ok {
		c.OnDownstreamClose(peer)
	}
}

//go:wasmexport proxy_on_upstream_connection_close
func onUpstreamConnectionClose(id, peer uint32) {
	defer goabi.Recover("proxy_on_upstream_connection_close", id, nil)
	if c, ok := connection(id); ok {
		c.OnUpstreamClose(peer)
	}
}
