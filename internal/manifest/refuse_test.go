package manifest

import (
	"errors"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

const simple = "limits: [{name: a, key: header:x, rate: 1/s}]\n"

// good are options that work, for each target.
func good(t Target) Options {
	o := Options{Target: t, Redis: []string{"redis.data.svc.cluster.local:6379"}, Namespace: "n", Gateway: "g", Image: image}
	switch t {
	case Envoy:
		o = Options{Target: t, Redis: o.Redis, Upstream: "app:80", Listen: "127.0.0.1:1", Module: "/m"}
	case Higress:
		o.Gateway = ""
	}
	return o
}

func TestGoodOnesAreNotRefused(t *testing.T) {
	for target := range makers {
		if _, err := Make([]byte(simple), good(target)); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	const (
		byIP     = "limits: [{name: a, key: ip, rate: 1/s}]\n"
		password = "redis: {password_env: P}\n" + simple
	)
	for name, c := range map[string]struct {
		config string
		target Target
		edit   func(*Options)
		path   string
		says   string
	}{
		"inline password":            {"redis: {password: hunter2}\n" + simple, Envoy, nil, "redis.password", "password_env"},
		"http in the mesh":           {"redis: {link: http}\n" + simple, Istio, func(o *Options) { o.InMesh = true }, "redis.link", "--in-mesh"},
		"http on Higress":            {"redis: {link: http}\n" + simple, Higress, nil, "redis.link", "host"},
		"host on Envoy, said":        {"redis: {link: host, cluster: 'outbound|6379||redis.static'}\n" + simple, Envoy, nil, "redis.link", "Higress"},
		"http, a client certificate": {"redis: {link: http}\n" + simple, Envoy, func(o *Options) { o.TLS = &TLS{Cert: "/c", Key: "/k"} }, "redis.link", "handshake"},
		"pipe on Higress":            {"redis: {link: pipe}\n" + simple, Higress, nil, "redis.link", "host"},
		"user and cluster":           {"redis: {username: u, password_env: P}\n" + simple, Istio, func(o *Options) { o.RedisCluster = true }, "redis.username", "logs in"},
		"database and cluster":       {"redis: {db: 1}\n" + simple, EnvoyGateway, func(o *Options) { o.RedisCluster = true }, "redis.db", "database 0"},
		"several counters":           {"limits: [{name: a, rate: [1/s, 5/min]}]\n", Envoy, func(o *Options) { o.RedisCluster = true }, "redis.topology", "topology: cluster"},
		"short timeout":              {"redis: {timeout: 5ms}\n" + simple, Envoy, func(o *Options) { o.RedisCluster = true }, "redis.timeout", "5 ms"},
		"cluster on Higress":         {simple, Higress, func(o *Options) { o.RedisCluster = true }, "redis.topology", "redirection"},
		"TLS on Higress":             {simple, Higress, func(o *Options) { o.TLS = &TLS{} }, "--tls", "DestinationRule"},
		"name of another part":       {"redis: {cluster: redis_nodes}\n" + simple, Envoy, nil, "redis.cluster", "something else"},
		"name of a listener":         {"redis: {cluster: redis_mesh}\n" + simple, Istio, func(o *Options) { o.InMesh = true }, "redis.cluster", "something else"},
		"name of the application":    {"redis: {cluster: upstream}\n" + simple, Envoy, nil, "redis.cluster", "something else"},
		"http, a name of another":    {"redis: {link: http, cluster: redis_nodes}\n" + simple, Envoy, nil, "redis.cluster", "something else"},
		"no Redis":                   {simple, Envoy, func(o *Options) { o.Redis = nil }, "--redis", "host:port"},
		"Redis without a port":       {simple, Envoy, func(o *Options) { o.Redis = []string{"redis"} }, "--redis", "host:port"},
		"Redis of a wrong port":      {simple, Envoy, func(o *Options) { o.Redis = []string{"redis:99999"} }, "--redis", "host:port"},
		"Redis with a pipe":          {simple, Higress, func(o *Options) { o.Redis = []string{"a|b:1"} }, "--redis", "character"},
		"Redis that ends the YAML":   {simple, Envoy, func(o *Options) { o.Redis = []string{"a\n- b:1"} }, "--redis", "character"},
		"two without a cluster":      {simple, Envoy, func(o *Options) { o.Redis = []string{"a:1", "b:1"} }, "--redis", "--redis-cluster"},
		"half a client certificate":  {simple, Envoy, func(o *Options) { o.TLS = &TLS{Cert: "/c"} }, "--tls-cert", "together"},
		"a Secret for Envoy":         {simple, Envoy, func(o *Options) { o.TLS = &TLS{CA: "secret:x"} }, "--tls-ca", "Kubernetes"},
		"a Secret without variable":  {simple, Istio, func(o *Options) { o.PasswordSecret = "s" }, "redis.password_env", "--password-secret"},
		"a Secret for plain Envoy":   {password, Envoy, func(o *Options) { o.PasswordSecret = "s" }, "--password-secret", "environment"},
		"no upstream":                {simple, Envoy, func(o *Options) { o.Upstream = "" }, "--upstream", "host:port"},
		"no module":                  {simple, Envoy, func(o *Options) { o.Module = "" }, "--module", "file"},
		"a relative path to watch":   {simple, Envoy, func(o *Options) { o.Watch = "x.yaml" }, "--watch", "absolute"},
		"a name of two lines":        {simple, Istio, func(o *Options) { o.Gateway = "a\nkind: Secret" }, "--gateway", "no name"},
		"a Secret's odd name":        {password, Istio, func(o *Options) { o.PasswordSecret = "a b/c" }, "--password-secret", "no name"},
		"no namespace":               {simple, Istio, func(o *Options) { o.Namespace = "" }, "--namespace", "where"},
		"no image":                   {simple, Istio, func(o *Options) { o.Image = "" }, "--image", "oci://"},
		"an image without a scheme":  {simple, Istio, func(o *Options) { o.Image = "registry/x" }, "--image", "oci://"},
		"a file on Envoy Gateway":    {simple, EnvoyGateway, func(o *Options) { o.Image = "file:///x" }, "--image", "file://"},
		"a checksum with a prefix":   {simple, Istio, func(o *Options) { o.SHA256 = "sha256:" + strings.Repeat("a", 64) }, "--sha256", "64"},
		"no gateway":                 {simple, EnvoyGateway, func(o *Options) { o.Gateway = "" }, "--gateway", "Gateway"},
		"gateway and labels":         {simple, Istio, func(o *Options) { o.Selector = []string{"a=b"} }, "--gateway", "Gateway"},
		"labels on Envoy Gateway":    {simple, EnvoyGateway, func(o *Options) { o.Selector = []string{"a=b"} }, "--selector", "--gateway"},
		"a label without a value":    {simple, Istio, func(o *Options) { o.Gateway, o.Selector = "", []string{"a"} }, "--selector", "key=value"},
		"a sidecar by name":          {simple, Istio, func(o *Options) { o.Mode = Sidecar }, "--selector", "labels"},
		"a waypoint by labels":       {simple, Istio, func(o *Options) { o.Mode, o.Gateway, o.Selector = Waypoint, "", []string{"a=b"} }, "--gateway", "by name"},
		"a sidecar of Envoy Gateway": {simple, EnvoyGateway, func(o *Options) { o.Mode = Sidecar }, "--mode", "Istio"},
		"a sidecar's peer":           {byIP, Istio, func(o *Options) { o.Mode, o.Gateway, o.Selector = Sidecar, "", []string{"a=b"} }, "client_ip", "envoy: true"},
		"a waypoint's peer":          {byIP, Istio, func(o *Options) { o.Mode = Waypoint }, "client_ip", "envoy: true"},
		"the mesh of no mesh":        {simple, EnvoyGateway, func(o *Options) { o.InMesh = true }, "--in-mesh", "Istio"},
		"the mesh and TLS":           {simple, Istio, func(o *Options) { o.InMesh, o.TLS = true, &TLS{} }, "--in-mesh", "--tls"},
		"the mesh and a cluster":     {simple, Istio, func(o *Options) { o.InMesh, o.RedisCluster = true, true }, "--in-mesh", "service"},
		"the mesh of a waypoint":     {simple, Istio, func(o *Options) { o.InMesh, o.Mode = true, Waypoint }, "--in-mesh", "waypoint"},
		"an address in the mesh":     {simple, Istio, func(o *Options) { o.InMesh, o.Redis = true, []string{"10.0.0.1:6379"} }, "--redis", "full name"},
	} {
		o := good(c.target)
		if c.edit != nil {
			c.edit(&o)
		}
		files, err := Make([]byte(c.config), o)
		var r RefusalErrors
		if !errors.As(err, &r) || files != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if !refusedFor(r, c.path, c.says) {
			t.Errorf("%s: nothing about %s that says %q:\n%v", name, c.path, c.says, r)
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
}

func refusedFor(r RefusalErrors, path, says string) bool {
	for _, x := range r {
		if x.Path == path && strings.Contains(x.Reason, says) {
			return true
		}
	}
	return false
}

// What a configuration's text may not say, or not yet, a Policy can.
func TestRefusedLinks(t *testing.T) {
	cert := &TLS{Cert: "/c", Key: "/k"}
	for name, c := range map[string]struct {
		link     config.Link
		topology config.Topology
		target   Target
		tls      *TLS
		path     string
	}{
		"host on Envoy":               {config.HostLink, config.SingleRedis, Envoy, nil, "redis.link"},
		"host on Istio":               {config.HostLink, config.SingleRedis, Istio, nil, "redis.link"},
		"host on Envoy Gateway":       {config.HostLink, config.SingleRedis, EnvoyGateway, nil, "redis.link"},
		"http, a client certificate":  {config.HTTPLink, config.SingleRedis, Envoy, cert, "redis.link"},
		"http, a cluster":             {config.HTTPLink, config.RedisCluster, Envoy, nil, "redis.link"},
		"host and a cluster, Higress": {config.HostLink, config.RedisCluster, Higress, nil, "redis.topology"},
	} {
		policy, problems := yamlconfig.Parse([]byte(simple))
		if problems != nil {
			t.Fatal(problems)
		}
		policy.Redis.Link, policy.Redis.Topology = c.link, c.topology
		o := good(c.target)
		o.TLS = c.tls
		if r := refuse(policy, &o); !refusedFor(r, c.path, "") {
			t.Errorf("%s: got %v", name, r)
		}
	}
	policy, _ := yamlconfig.Parse([]byte(simple))
	policy.Redis.Cluster = "outbound|6379||redis"
	o := good(Istio)
	if r := refuse(policy, &o); !refusedFor(r, "redis.cluster", "|") {
		t.Errorf("a | in the cluster's name: %v", r)
	}
	policy.Redis.Cluster = "redis"
	policy.Redis.Link = config.HTTPLink
	way := makePipe(policy, &o)
	if len(way.listeners) != 0 || len(way.clusters) != 1 || at(way.clusters[0], "name").Value != "redis" {
		t.Errorf("the way of an http link: %v", way)
	}
}

// A configuration that is wrong anywhere says where, as the other commands do.
func TestWrongConfiguration(t *testing.T) {
	for text, says := range map[string]string{
		"limits: [{name: a, rate: x}]": "limits.yaml:1:26: limits[0].rate",
		"a: [":                         "limits.yaml:",
		"redis: {cluster: 'outbound|6379||redis'}\nlimits: []\n":    "redis.cluster",
		"redis: {link: sideways}\nlimits: [{name: a, rate: 1/s}]\n": "redis.link",
	} {
		o := good(Envoy)
		o.Source = "limits.yaml"
		_, err := Make([]byte(text), o)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
