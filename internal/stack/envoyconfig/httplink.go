package envoyconfig

// RedisTCP is the cluster that the plugin calls by itself, with redis.link: http.
const RedisTCP = "redis_tcp"

// WithoutPipe makes of the pipe's cluster the one for redis.link: http, a connection
// a call: Redis needs no framer then, and nothing that gRPC needs.
func (c *Config) WithoutPipe() {
	cl := c.cluster(Pipe)
	if cl == nil {
		return
	}
	cl["name"] = RedisTCP
	delete(cl, "typed_extension_protocol_options")
	if a, _ := cl["load_assignment"].(M); a != nil {
		a["cluster_name"] = RedisTCP
	}
}
