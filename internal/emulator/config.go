package emulator

import "time"

// Config says how a proxy is set up. The zero value is a proxy whose clock
// stands still until it is advanced, and that knows every cluster.
type Config struct {
	Plugin string            // the plugin's configuration
	VM     string            // the VM's configuration
	VMID   string            // VMs with the same one share data
	Name   string            // the plugin's name in the proxy's configuration
	RootID string            // the plugin's root_id
	Env    map[string]string // environment variables that the module sees

	// Now is where the clock starts; the default is a day in 2026.
	Now time.Time
	// RealTime lets the clock follow the machine's. Ticks are then due at their
	// times, and Pump makes them.
	RealTime bool

	// Clusters are those that callouts can reach; nil means any.
	Clusters []string
	// Bridges connect each gRPC stream to a cluster with a TCP connection to an
	// address: a message's bytes are written as they are, and what comes back
	// becomes messages, when Pump is called.
	Bridges map[string]string

	// Redis makes the proxy one of Higress's, which has Redis calls: the address of
	// the Redis behind each cluster, "" for a cluster without a host. Replies come
	// when Pump is called. nil is a stock Envoy, which has no such calls.
	Redis map[string]string
	// RedisReconnects makes it an older one, which closes its connections at each
	// proxy_redis_init, also when that changes nothing.
	RedisReconnects bool

	// FailOpen lets requests pass a VM that died; otherwise they get 503.
	FailOpen bool
	// Properties are attributes of every request, by Path.
	Properties map[string][]byte
	// Foreign are the functions that proxy_call_foreign_function finds. A nil
	// error is OK; an error is InternalFailure.
	Foreign map[string]func(arg []byte) ([]byte, error)
	// LogLevel is the lowest level that the host says it writes; all lines are
	// kept all the same.
	LogLevel uint32
}

var defaultNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
