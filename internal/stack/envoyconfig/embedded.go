package envoyconfig

import _ "embed"

// The project's envoy.yaml, which go:embed can't reach from here.
//go:generate cp ../../../envoy.yaml example.yaml

//go:embed example.yaml
var example []byte

//go:embed redisproxy.yaml
var redisProxy []byte

// Example is the text of the project's envoy.yaml: the one place that says what
// a gateway and its pipe to Redis look like.
func Example() []byte { return example }

// RedisProxy is the text of what stands between the pipe and a Redis Cluster: a
// list of listeners and a list of clusters, as in envoy.yaml.
func RedisProxy() []byte { return redisProxy }
