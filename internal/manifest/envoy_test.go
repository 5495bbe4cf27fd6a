package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// A real Envoy reads every golden: the plugin's file, certificates and the
// variables that it names included.
func TestEnvoyReadsEveryGolden(t *testing.T) {
	certs := stacktest.NewCertificates(t, "redis")
	dir := t.TempDir()
	// Files that a deployment has are the test's own here.
	local := strings.NewReplacer(
		"/etc/envoy/sluice.wasm", stacktest.Module(t),
		"/etc/redis/ca.crt", certs.CA, "/etc/redis/tls.crt", certs.Cert, "/etc/redis/tls.key", certs.Key,
		caFolder+"/ca.crt", certs.CA, systemCA, certs.CA,
		"/etc/sluice", dir,
	)
	seen := map[Target]int{}
	for _, c := range goldenCases {
		parts := envoyParts(t, c)
		if parts == nil {
			continue
		}
		seen[c.opts.Target]++
		for name, part := range parts {
			text, err := encode(part)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(local.Replace(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := stack.Validate(t.Context(), stacktest.EnvoyBinary(t), filepath.Join(dir, "envoy.yaml"),
			"REDIS_PASSWORD=x", "SLUICE_HASH_SECRET=x"); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if seen[Envoy] == 0 || seen[Istio] == 0 || seen[EnvoyGateway] == 0 {
		t.Errorf("seen only %v", seen)
	}
}

// Envoy's validation sees the mistakes that it is there for, also inside the filters
// of the pipe's cluster.
func TestEnvoyRefusesABrokenGolden(t *testing.T) {
	c := goldenCases[0]
	root := envoyParts(t, c)["envoy.yaml"]
	text, err := encode(root)
	if err != nil {
		t.Fatal(err)
	}
	good := strings.Replace(string(text), "/etc/envoy/sluice.wasm", stacktest.Module(t), 1)
	for name, edit := range map[string][2]string{
		"a field that isn't there":   {"inline_bytes: ", "inline_bites: "},
		"a module that is none":      {"inline_bytes: AGFzbQ", "inline_bytes: AAAAAA"},
		"filters without their last": {"upstream_codec.v3.UpstreamCodec", "grpc_web.v3.GrpcWeb"},
	} {
		broken := strings.Replace(good, edit[0], edit[1], 1)
		if broken == good {
			t.Errorf("%s: the golden has no %q", name, edit[0])
		}
		file := filepath.Join(t.TempDir(), "envoy.yaml")
		if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := stack.Validate(t.Context(), stacktest.EnvoyBinary(t), file); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// envoyParts are a golden's files as Envoy reads them, or nil where it has
// nothing of Envoy's.
func envoyParts(t *testing.T, c goldenCase) map[string]node {
	t.Helper()
	parts := map[string]node{}
	for _, f := range c.make(t) {
		doc := parse(string(f.Text))
		switch {
		case c.opts.Target == Envoy:
			parts[f.Name] = doc
		case f.Name == "envoyproxy.yaml":
			boot := parse(at(doc, "spec", "bootstrap", "value").Value)
			set(boot, "admin", parse("address: {socket_address: {address: 127.0.0.1, port_value: 0}}"))
			parts["envoy.yaml"] = boot
		case f.Name == "envoyfilter.yaml":
			parts["envoy.yaml"] = patched(t, doc)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}

// patched is an Envoy configuration with an EnvoyFilter's patches.
func patched(t *testing.T, filter node) node {
	t.Helper()
	var listeners, clusters []node
	manager := parse(`
"@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
stat_prefix: gateway
route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 200}}]}]}
http_filters: [{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
`)
	for _, p := range at(filter, "spec", "configPatches").Content {
		value := at(p, "patch", "value")
		switch at(p, "applyTo").Value {
		case "LISTENER":
			listeners = append(listeners, value)
		case "CLUSTER":
			clusters = append(clusters, value)
		case "NETWORK_FILTER":
			merge := at(value, "typed_config")
			for i := 0; i < len(merge.Content); i += 2 {
				set(manager, merge.Content[i].Value, merge.Content[i+1])
			}
		default:
			t.Errorf("a patch for %s", at(p, "applyTo").Value)
		}
	}
	gateway := parse("name: gateway\naddress: {socket_address: {address: 127.0.0.1, port_value: 0}}")
	set(gateway, "filter_chains", list(object("filters", list(object("name", managerName, "typed_config", manager)))))
	mesh := parse("name: outbound|6379||redis.data.svc.cluster.local\ntype: STATIC")
	return object(
		"bootstrap_extensions", bootstrapExtensions(),
		"static_resources", object(
			"listeners", list(append(listeners, gateway)...),
			"clusters", list(append(clusters, mesh)...)))
}

// What every deployment has to have, whatever its target.
func TestEveryGoldenHasTheEssentials(t *testing.T) {
	for _, c := range goldenCases {
		all := string(Join(c.make(t)))
		for _, secret := range []string{"hunter2", "$("} {
			if strings.Contains(all, secret) {
				t.Errorf("%s has %q", c.name, secret)
			}
		}
		for _, f := range c.make(t) {
			dec := yaml.NewDecoder(strings.NewReader(string(f.Text)))
			var doc yaml.Node
			if err := dec.Decode(&doc); err != nil {
				t.Errorf("%s: %s: %v", c.name, f.Name, err)
			}
		}
		if c.opts.Target == Higress {
			continue
		}
		gateway := c.opts.Mode != Sidecar && c.opts.Mode != Waypoint
		for _, tag := range tagNames() {
			if !strings.Contains(all, tag) {
				t.Errorf("%s makes no label %s", c.name, tag)
			}
		}
		need := []string{"wasm.sluice.decision:PLAIN", "wasm.sluice.limit:PLAIN"}
		if c.opts.Target != EnvoyGateway { // which has both by itself
			need = append(need, "stream_idle_timeout: 60s")
			if gateway {
				need = append(need, "use_remote_address: true")
			}
		}
		for _, n := range need {
			if !strings.Contains(all, n) {
				t.Errorf("%s lacks %s", c.name, n)
			}
		}
		for _, name := range pluginClusters(t, c) {
			if strings.Contains(name, "|") {
				t.Errorf("%s: the plugin calls %s", c.name, name)
			}
		}
		// A listener inside Envoy is an outbound one, so that a gateway that shuts down
		// doesn't drain it first; and where the bootstrap is ours, it has to know such.
		listeners := 0
		if behindListener(t, c) != "" {
			listeners = 1
		}
		if n := strings.Count(all, "internal_listener: {}"); n != listeners || strings.Count(all, "traffic_direction: OUTBOUND") != n {
			t.Errorf("%s: %d internal listeners, expected %d, or not all are outbound ones", c.name, n, listeners)
		}
		extension := strings.Contains(all, "bootstrap_extensions")
		if ours := c.opts.Target != Istio; extension != (ours && listeners > 0) {
			t.Errorf("%s: an extension for listeners inside Envoy: %v", c.name, extension)
		}
	}
}

// pluginClusters are the clusters that a golden's plugins call.
func pluginClusters(t *testing.T, c goldenCase) []string {
	t.Helper()
	var names []string
	var walk func(n node)
	walk = func(n node) {
		if redis := at(n, "redis", "cluster"); n.Kind == yaml.MappingNode && redis != nil {
			names = append(names, redis.Value)
		}
		for _, item := range n.Content {
			walk(item)
		}
	}
	for _, f := range c.make(t) {
		walk(parse(string(f.Text)))
	}
	if len(names) != 1 {
		t.Errorf("%s: plugins call %v", c.name, names)
	}
	return names
}
