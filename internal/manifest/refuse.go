package manifest

import (
	"fmt"
	"net"
	"path"
	"regexp"
	"strconv"
	"strings"

	"sluice/internal/config"
)

// RefusalError is why a configuration can't work on a target.
type RefusalError struct {
	// Path is the field of the configuration, or the flag, that is the cause.
	Path string
	// Reason says why, and what to do instead.
	Reason string
}

func (r RefusalError) Error() string { return r.Path + ": " + r.Reason }

// RefusalErrors are all that is wrong.
type RefusalErrors []RefusalError

func (r RefusalErrors) Error() string {
	lines := make([]string, len(r))
	for i := range r {
		lines[i] = r[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (r *RefusalErrors) add(where, format string, args ...any) {
	*r = append(*r, RefusalError{where, fmt.Sprintf(format, args...)})
}

// refuse collects what can't work.
func refuse(p *config.Policy, o *Options) RefusalErrors {
	var r RefusalErrors
	refuseLink(&r, p, o)
	refuseRedis(&r, p, o)
	refuseSecrets(&r, p, o)
	refuseCluster(&r, p, o)
	refuseMesh(&r, p, o)
	refusePlace(&r, o)
	refuseClient(&r, p, o)
	refuseEnvoy(&r, o)
	return r
}

func refuseLink(r *RefusalErrors, p *config.Policy, o *Options) {
	const field = "redis.link"
	link := p.Redis.Link
	switch {
	case link == config.HostLink && o.Target != Higress:
		r.add(field, "host needs Redis calls that only Higress's Envoy has, and any other refuses to load the plugin; say link: pipe")
	case link != config.HostLink && o.Target == Higress && o.linkGiven:
		r.add(field, "Higress's plugins reach Redis by its own calls; say link: host, or leave it out")
	}
	if link != config.HTTPLink {
		return
	}
	if o.TLS != nil && o.TLS.Cert != "" {
		r.add(field, "http opens a connection for each call, and with a client certificate each call would be a whole TLS handshake; say link: pipe")
	}
	if o.InMesh {
		r.add(field, "http reaches Redis past the mesh: --in-mesh is for the pipe, which leads into it through a listener; give the address and --tls, or say link: pipe")
	}
	if clustered(p, o) {
		r.add(field, "http reaches one server, and a Redis Cluster needs the pipe through Envoy's Redis proxy; say link: pipe")
	}
}

func refuseRedis(r *RefusalErrors, p *config.Policy, o *Options) {
	if len(o.Redis) == 0 {
		r.add("--redis", "is where Redis is, host:port")
	}
	for _, addr := range o.Redis {
		refuseAddress(r, "--redis", addr)
	}
	if len(o.Redis) > 1 && !clustered(p, o) {
		r.add("--redis", "several addresses are the nodes of a Redis Cluster: say --redis-cluster too; of replicas give the one address that leads to the master")
	}
	// The host link names the service as Istio does, with |.
	if strings.Contains(p.Redis.Cluster, "|") && o.Target != Higress {
		r.add("redis.cluster", "Envoy sends the name of a cluster that a plugin calls as a host name, and no host name has a |; leave the name out")
	}
	if reserved[p.Redis.Cluster] {
		r.add("redis.cluster", "%q is the name of something else that the manifest makes; leave it out", p.Redis.Cluster)
	}
	if o.TLS != nil {
		if o.Target == Higress {
			r.add("--tls", "Higress connects to the service as its DestinationRule or McpBridge says: set it there")
		}
		if (o.TLS.Cert == "") != (o.TLS.Key == "") {
			r.add("--tls-cert", "and --tls-key belong together")
		}
		if _, _, mounted := o.TLS.mount(); mounted && !o.kubernetes() {
			r.add("--tls-ca", "a Secret or ConfigMap is Kubernetes's; give the path of a file")
		}
	}
}

// refuseAddress finds what isn't host:port.
func refuseAddress(r *RefusalErrors, flag, addr string) {
	host, port, err := net.SplitHostPort(addr)
	if n, e := strconv.Atoi(port); err != nil || e != nil || host == "" || n < 1 || n > 65535 {
		r.add(flag, "%q isn't host:port", addr)
		return
	}
	if !hostName.MatchString(host) && net.ParseIP(host) == nil {
		r.add(flag, "%q has a character that no host name has", addr)
	}
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// refuseEnvoy looks at what only a plain Envoy needs.
func refuseEnvoy(r *RefusalErrors, o *Options) {
	if o.Target != Envoy {
		return
	}
	if o.Upstream == "" {
		r.add("--upstream", "is the application behind the gateway, host:port")
	} else {
		refuseAddress(r, "--upstream", o.Upstream)
	}
	refuseAddress(r, "--listen", o.Listen)
	if o.Module == "" {
		r.add("--module", "is the plugin's file where Envoy runs")
	}
	if o.Watch != "" && !path.IsAbs(o.Watch) {
		r.add("--watch", "is an absolute path, which Envoy watches")
	}
}

// reserved are names of what else a manifest makes.
var reserved = map[string]bool{redisNodes: true, redisMesh: true, "upstream": true}

func refuseSecrets(r *RefusalErrors, p *config.Policy, o *Options) {
	if p.Redis.Password != "" {
		r.add("redis.password", "a manifest is copied and committed, so it holds no password; say password_env: NAME")
	}
	if o.PasswordSecret == "" {
		return
	}
	if p.Redis.PasswordEnv == "" {
		r.add("redis.password_env", "names the environment variable that --password-secret fills; say for example password_env: REDIS_PASSWORD")
	}
	if o.Target == Envoy || o.Target == Higress {
		r.add("--password-secret", "%s takes it from the gateway's environment: set the variable there", o.Target)
	}
	if name, _ := o.secret(); name == "" {
		r.add("--password-secret", "is NAME or NAME/KEY")
	}
}

// clustered says that Redis is a cluster, by the configuration or the flag.
func clustered(p *config.Policy, o *Options) bool {
	return o.RedisCluster || p.Redis.Topology == config.RedisCluster
}

func refuseCluster(r *RefusalErrors, p *config.Policy, o *Options) {
	if !clustered(p, o) {
		return
	}
	if o.Target == Higress {
		r.add("redis.topology", "Higress's Redis calls know no Redis Cluster: they follow no redirection")
	}
	if p.Redis.Username != "" {
		r.add("redis.username", "with a Redis Cluster Envoy's Redis proxy logs in, as the default user: give that one a password and the commands that sluice needs")
	}
	if p.Redis.DB != 0 {
		r.add("redis.db", "a Redis Cluster has only database 0")
	}
	if p.Redis.Topology != config.RedisCluster && counters(p) > 1 {
		r.add("redis.topology", "these limits have several counters, which lie on different nodes of a Redis Cluster; say topology: cluster")
	}
	if p.Redis.TimeoutUS <= opMarginUS {
		r.add("redis.timeout", "through Envoy's Redis proxy it has to be more than %d ms: the proxy gives up that much earlier, so that a node that hangs can't hold up the others", opMarginUS/1000)
	}
}

// counters is how many hash slots one request may need at most: one for each counter
// in Redis, and one for all with the same hash_tag.
func counters(p *config.Policy) int {
	n := 0
	tags := map[string]bool{}
	for _, l := range p.Limits {
		switch {
		case l.Scope == config.ScopeGateway:
		case l.HashTag != nil:
			tags[l.HashTag.String()] = true
		default:
			n += max(1, len(l.Rates))
		}
	}
	return n + len(tags)
}

func refuseMesh(r *RefusalErrors, p *config.Policy, o *Options) {
	if !o.InMesh {
		return
	}
	const flag = "--in-mesh"
	if o.Target != Istio {
		r.add(flag, "is Istio's: it has the mesh's own cluster for the service")
		return
	}
	if o.Mode == Waypoint {
		r.add(flag, "a waypoint has clusters only for what it stands before, not for Redis; use the address and --tls")
	}
	if o.TLS != nil {
		r.add(flag, "the mesh secures the connection itself; leave --tls out, or reach Redis past the mesh")
	}
	if clustered(p, o) {
		r.add(flag, "a Redis Cluster's nodes name each other by address, and the mesh routes by service; leave it out")
	}
	for _, addr := range o.Redis {
		if host, _, err := net.SplitHostPort(addr); err == nil && !strings.Contains(host, ".") || net.ParseIP(host) != nil {
			r.add("--redis", "in the mesh it is a service's full name, such as redis.NAMESPACE.svc.cluster.local:6379, not %q", addr)
		}
	}
}

func refusePlace(r *RefusalErrors, o *Options) {
	if o.Target == Envoy {
		return
	}
	if o.Namespace == "" {
		r.add("--namespace", "is where the gateway or the workloads are")
	}
	refuseNames(r, o)
	refuseImage(r, o)
	if o.Target == Higress {
		return
	}
	if o.Mode != "" && o.Mode != Gateway && o.Target != Istio {
		r.add("--mode", "%s is Istio's", o.Mode)
	}
	for _, s := range o.Selector {
		if k, v, ok := strings.Cut(s, "="); !ok || k == "" || v == "" {
			r.add("--selector", "%q isn't key=value", s)
		}
	}
	if o.Target == EnvoyGateway && len(o.Selector) > 0 {
		r.add("--selector", "Envoy Gateway attaches to a Gateway; say --gateway NAME")
	}
	switch {
	case o.Mode == Sidecar && (len(o.Selector) == 0 || o.Gateway != ""):
		r.add("--selector", "picks the pods whose sidecars get the plugin, by their labels: --selector app=NAME, without --gateway")
	case o.Mode == Waypoint && (o.Gateway == "" || len(o.Selector) > 0):
		r.add("--gateway", "is the waypoint's name; Istio attaches to waypoints by name only, not by labels")
	case o.Mode != Sidecar && o.Mode != Waypoint && (o.Gateway == "") == (len(o.Selector) == 0):
		r.add("--gateway", "is the name of the Gateway that gets the plugin; for one that no Gateway resource made give its pods' labels instead: --selector istio=ingressgateway")
	}
}

// refuseNames finds what Kubernetes would take for no name.
func refuseNames(r *RefusalErrors, o *Options) {
	secret, _ := o.secret()
	var ca string
	if o.TLS != nil {
		if _, name, ok := o.TLS.mount(); ok {
			ca = name
		}
	}
	for _, n := range []struct{ flag, name string }{
		{"--gateway", o.Gateway}, {"--namespace", o.Namespace}, {"--pull-secret", o.PullSecret},
		{"--password-secret", secret}, {"--tls-ca", ca},
	} {
		if n.name != "" && !objectName.MatchString(n.name) {
			r.add(n.flag, "%q is no name that Kubernetes takes", n.name)
		}
	}
}

var objectName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

var sha256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

func refuseImage(r *RefusalErrors, o *Options) {
	if o.SHA256 != "" && !sha256.MatchString(o.SHA256) {
		r.add("--sha256", "is 64 hexadecimal digits, without a prefix")
	}
	scheme, rest, ok := strings.Cut(o.Image, "://")
	switch {
	case o.Image == "":
		r.add("--image", "is where the proxies get the plugin, such as oci://REGISTRY/sluice:VERSION")
	case !ok || rest == "":
		r.add("--image", "%q has no scheme; for an image it is oci://", o.Image)
	case scheme == "oci" || scheme == "https" || scheme == "http":
	case scheme == "file" && o.Target != EnvoyGateway:
	default:
		r.add("--image", "%s takes no %s://", o.Target, scheme)
	}
}

// refuseClient finds limits by address where the proxy doesn't see the caller's.
func refuseClient(r *RefusalErrors, p *config.Policy, o *Options) {
	if o.Target != Istio || (o.Mode != Sidecar && o.Mode != Waypoint) || !usesClient(p) {
		return
	}
	if !p.Source.Client.Envoy {
		r.add("client_ip", "a %s's peer is the proxy before it, not the caller; say client_ip: {envoy: true}", o.Mode)
	}
}

func usesClient(p *config.Policy) bool {
	for _, a := range p.Attributes {
		if a == "source\x00address" {
			return true
		}
	}
	return false
}
