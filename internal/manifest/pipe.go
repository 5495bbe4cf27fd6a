package manifest

import (
	"net"
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/stack/envoyconfig"
)

// Names of the pipe's parts.
const (
	redisPipe  = envoyconfig.Pipe
	redisProxy = envoyconfig.ProxyListener
	redisNodes = envoyconfig.ProxyNodes
	redisMesh  = "redis_mesh"
)

// opMarginUS is how much earlier than the plugin Envoy's Redis proxy gives up,
// microseconds.
const opMarginUS = 5000

// pipe is the way from the plugin to Redis: what Envoy needs besides the plugin.
type pipe struct {
	listeners, clusters []node
}

// example is envoy.yaml without the comments that tell its reader what to edit.
func example() node {
	root := parse(string(envoyconfig.Example()))
	eachComment(root, func(c *string) {
		if strings.Contains(*c, "EDIT") {
			*c = ""
		}
	})
	return root
}

// makePipe takes the pipe out of envoy.yaml and leads it to the Redis meant.
func makePipe(p *config.Policy, o *Options) pipe {
	cluster := named(at(example(), "static_resources", "clusters"), redisPipe)
	set(cluster, "name", text(p.Redis.Cluster))
	out := pipe{clusters: []node{cluster}}
	switch {
	case p.Redis.Link == config.HTTPLink:
		// A request of the plugin's is the bytes themselves, on a connection of its own.
		remove(cluster, "typed_extension_protocol_options")
		toAddresses(cluster, p.Redis.Cluster, o.Redis)
		secure(cluster, o)
	case clustered(p, o):
		explain(cluster, "goes on to\nthe listener "+redisProxy+", which finds the node.")
		toListener(cluster, redisProxy)
		out.throughProxy(p, o)
	case o.InMesh:
		explain(cluster, "goes on to\nthe listener "+redisMesh+" and from there into the mesh.")
		toListener(cluster, redisMesh)
		out.listeners = append(out.listeners, meshHop(o))
	default:
		explain(cluster, "goes out on\na TCP connection.")
		toAddresses(cluster, p.Redis.Cluster, o.Redis)
		secure(cluster, o)
	}
	return out
}

// explain says what the pipe is, and where what comes out of it goes. Without an
// apostrophe: one of the kustomize overlays counts them.
func explain(cluster node, goes string) {
	cluster.HeadComment = wrap("The pipe: how the plugin reaches Redis. Envoy gives a plugin no Redis call and no\nsocket, but a gRPC stream to a cluster. Each worker keeps one open. The first of the\nfilters below takes the gRPC framing off, and plain Redis protocol " + goes)
}

// throughProxy puts Envoy's Redis proxy between the pipe and a Redis Cluster.
func (out *pipe) throughProxy(p *config.Policy, o *Options) {
	parts := parse(string(envoyconfig.RedisProxy()))
	listener, nodes := named(at(parts, "listeners"), redisProxy), named(at(parts, "clusters"), redisNodes)
	settings := at(listener, "filter_chains", 0, "filters", 0, "typed_config", "settings")
	set(settings, "op_timeout", text(seconds(p.Redis.TimeoutUS-opMarginUS)))
	toAddresses(nodes, redisNodes, o.Redis)
	secure(nodes, o)
	if p.Redis.PasswordEnv != "" {
		set(nodes, "typed_extension_protocol_options", object(
			"envoy.filters.network.redis_proxy", object(
				"@type", "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions",
				"auth_password", flow(object("environment_variable", p.Redis.PasswordEnv)))))
		comment(nodes, "typed_extension_protocol_options", "From the proxy's environment, read when the cluster is made: an unset variable\nis an error, and a new password needs a restart.")
	}
	out.listeners = append(out.listeners, listener)
	out.clusters = append(out.clusters, nodes)
}

// seconds writes microseconds as Envoy's configuration wants durations.
func seconds(us int64) string {
	return strconv.FormatFloat(float64(us)/1e6, 'f', -1, 64) + "s"
}

// meshHop leads to the mesh's own cluster for the service, whose mutual TLS and
// endpoints are Istio's. The plugin can't call that cluster: its name has a |.
func meshHop(o *Options) node {
	l := parse(`
name: redis_mesh
internal_listener: {}
traffic_direction: OUTBOUND
filter_chains:
- filters:
  - name: envoy.filters.network.tcp_proxy
    typed_config:
      "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
      stat_prefix: redis_mesh
`)
	tcp := at(l, "filter_chains", 0, "filters", 0, "typed_config")
	set(tcp, "cluster", text(meshCluster(o.Redis[0])))
	comment(tcp, "cluster", "Istio's own cluster for the service: mutual TLS and endpoints are its business.\nThe plugin can't call it directly, because of the | in its name.")
	return l
}

// toListener points a cluster at a listener of the same Envoy.
func toListener(cluster node, listener string) {
	set(cluster, "type", text("STATIC"))
	remove(cluster, "upstream_connection_options") // nothing that could go silent
	name := at(cluster, "name").Value
	set(cluster, "load_assignment", assignment(name,
		object("envoy_internal_address", flow(object("server_listener_name", listener)))))
}

// toAddresses points a cluster at servers, each host:port.
func toAddresses(cluster node, name string, addrs []string) {
	var list []node
	for _, a := range addrs {
		list = append(list, socket(a))
	}
	set(cluster, "load_assignment", assignment(name, list...))
}

func socket(addr string) node {
	host, port, _ := net.SplitHostPort(addr) // refuse looked at it
	n, _ := strconv.Atoi(port)
	return object("socket_address", flow(object("address", host, "port_value", number(n))))
}

func assignment(name string, addresses ...node) node {
	endpoints := list()
	for _, a := range addresses {
		endpoints.Content = append(endpoints.Content, object("endpoint", flow(object("address", flow(a)))))
	}
	return object("cluster_name", name, "endpoints", list(object("lb_endpoints", endpoints)))
}

// secure has a cluster speak TLS.
func secure(cluster node, o *Options) {
	if o.TLS == nil {
		return
	}
	name := o.TLS.Name
	if name == "" {
		name, _, _ = net.SplitHostPort(o.Redis[0])
	}
	kind := "DNS"
	if net.ParseIP(name) != nil {
		kind = "IP_ADDRESS"
	}
	common := object()
	if o.TLS.Cert != "" {
		set(common, "tls_certificates", list(object(
			"certificate_chain", flow(object("filename", o.TLS.Cert)),
			"private_key", flow(object("filename", o.TLS.Key)))))
	}
	set(common, "validation_context", object(
		"trusted_ca", flow(object("filename", o.TLS.file())),
		"match_typed_subject_alt_names", list(flow(object("san_type", kind, "matcher", flow(object("exact", name)))))))
	comment(at(common, "validation_context"), "match_typed_subject_alt_names", "Without this any certificate of these authorities would do.")
	context := object("@type", "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext")
	if kind == "DNS" {
		set(context, "sni", text(name))
	}
	set(context, "common_tls_context", common)
	set(cluster, "transport_socket", object("name", "envoy.transport_sockets.tls", "typed_config", context))
}

// statsConfig is what makes labels out of the plugin's metric names.
func statsConfig() node {
	return at(example(), "stats_config")
}

// tagNames are the labels of the plugin's metrics.
func tagNames() []string {
	var names []string
	for _, t := range at(statsConfig(), "stats_tags").Content {
		names = append(names, at(t, "tag_name").Value)
	}
	return names
}

// gatewayManager is envoy.yaml's HTTP connection manager of the gateway.
func gatewayManager() node {
	static := at(example(), "static_resources")
	return at(named(at(static, "listeners"), envoyconfig.Gateway), "filter_chains", 0, "filters", 0, "typed_config")
}

// istioBuckets are the histogram's buckets as Istio's annotation has them: by the
// beginning of the metric's name.
func istioBuckets() string {
	setting := at(statsConfig(), "histogram_bucket_settings", 0)
	var bounds []string
	for _, b := range at(setting, "buckets").Content {
		bounds = append(bounds, b.Value)
	}
	return `{"wasmcustom.` + at(setting, "match", "suffix").Value + `":[` + strings.Join(bounds, ",") + `]}`
}

// accessLogFormat is the line that a request leaves, with what was decided.
func accessLogFormat() string {
	return at(gatewayManager(), "access_log", 0, "typed_config", "log_format", "text_format_source", "inline_string").Value
}

// idleTimeout is how long a stream may stay silent.
func idleTimeout() string { return at(gatewayManager(), "stream_idle_timeout").Value }

// bootstrapExtensions has Envoy know listeners without a socket.
func bootstrapExtensions() node {
	return at(parse(string(envoyconfig.RedisProxy())), "bootstrap_extensions")
}

// innerListener is what a configuration says that has such a listener.
const innerListener = "Beyond the pipe is a listener inside Envoy, with no socket of its own."

// eachComment calls f for every comment of a tree.
func eachComment(n node, f func(c *string)) {
	for _, c := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		if *c != "" {
			f(c)
		}
	}
	for _, item := range n.Content {
		eachComment(item, f)
	}
}
