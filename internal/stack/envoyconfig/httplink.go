package envoyconfig

import "slices"

// WithoutPipe leaves out what the pipe is made of: the plugin then calls the cluster
// of the Redis server itself (redis.link: http), once a connection. Nothing of it
// needs a listener inside Envoy.
func (c *Config) WithoutPipe() {
	c.RemoveListener(Pipe)
	static, _ := c.root["static_resources"].(M)
	clusters, _ := static["clusters"].([]any)
	static["clusters"] = slices.DeleteFunc(clusters, func(cl any) bool { return at(cl, "name") == Pipe })
	c.Top("bootstrap_extensions", nil)
}
