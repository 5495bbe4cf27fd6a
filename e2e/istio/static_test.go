package istio

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// place is where the things are that istiod knows by other addresses.
type place struct {
	upstream string                  // host:port that services' clusters lead to
	redis    string                  // host:port of the mesh's Redis; "" when not in the mesh
	certs    *stacktest.Certificates // the mesh's, for Redis
	folder   string                  // for what comes by ECDS
}

// static makes an Envoy configuration of what istiod handed out, for a stock
// Envoy: without the filters that only Istio's build has, with routes and
// endpoints in place. The plugin's filter stays one that comes by ECDS, from a
// file. It returns the listener's name that requests go to.
func static(t *testing.T, x xdsConfig, at place) *envoyconfig.Config {
	t.Helper()
	for _, l := range x.listeners {
		inline(t, l, x, at)
	}
	for _, c := range x.clusters {
		settle(c, at)
	}
	for name, e := range x.extensions {
		writeExtension(t, at.folder, name, e)
	}
	text, err := json.Marshal(m{
		"node":  m{"id": "pod", "cluster": "pods"},
		"admin": m{"address": m{"socketAddress": m{"address": "127.0.0.1", "portValue": 0}}},
		"bootstrapExtensions": []any{m{
			"name":        "envoy.bootstrap.internal_listener",
			"typedConfig": m{"@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener"},
		}},
		"staticResources": m{"listeners": x.listeners, "clusters": x.clusters},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := envoyconfig.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// onlyIstio says that a filter isn't in a stock Envoy.
func onlyIstio(filter any) bool {
	f, _ := filter.(m)
	name, _ := f["name"].(string)
	typed, _ := f["typedConfig"].(m)
	kind, _ := typed["@type"].(string)
	inner, _ := typed["typeUrl"].(string) // of a TypedStruct
	return strings.HasPrefix(name, "istio") || strings.Contains(kind+inner, "/io.istio.") || strings.Contains(kind+inner, "/istio.")
}

func without(list any, drop func(any) bool) []any {
	var kept []any
	items, _ := list.([]any)
	for _, x := range items {
		if !drop(x) {
			kept = append(kept, x)
		}
	}
	return kept
}

// inline changes a listener in place.
func inline(t *testing.T, l m, x xdsConfig, at place) {
	t.Helper()
	if l["accessLog"] != nil {
		delete(l, "accessLog")
	}
	walk(l, func(o m) {
		if o["filters"] != nil {
			o["filters"] = without(o["filters"], onlyIstio)
		}
		kind, _ := o["@type"].(string)
		if !strings.HasSuffix(kind, ".HttpConnectionManager") {
			return
		}
		o["httpFilters"] = without(o["httpFilters"], onlyIstio)
		if rds, ok := o["rds"].(m); ok {
			name, _ := rds["routeConfigName"].(string)
			delete(o, "rds")
			o["routeConfig"] = x.routes[name]
		}
	})
	walk(l, func(o m) {
		if o["configDiscovery"] == nil {
			return
		}
		name, _ := o["name"].(string)
		if x.extensions[name] == nil {
			t.Errorf("istiod has no extension %s", name)
		}
		o["configDiscovery"] = m{
			"configSource": m{"resourceApiVersion": "V3", "pathConfigSource": m{"path": extensionFile(at.folder, name)}},
			"typeUrls":     []any{"type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"},
		}
	})
}

func extensionFile(folder, name string) string {
	return filepath.Join(folder, strings.ReplaceAll(name, "/", "_")+".json")
}

// writeExtension moves a filter's file into place, which is what Envoy notices.
func writeExtension(t *testing.T, folder, name string, e m) {
	t.Helper()
	resource := m{"@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"}
	for k, v := range e {
		resource[k] = v
	}
	text, err := json.Marshal(m{"resources": []any{resource}})
	if err != nil {
		t.Fatal(err)
	}
	path := extensionFile(folder, name)
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// settle changes a cluster in place: its endpoints are known, and no secrets
// come over the network.
func settle(c m, at place) {
	name, _ := c["name"].(string)
	delete(c, "filters")
	if name == "outbound|6379||"+redisInMesh && at.redis != "" {
		delete(c, "edsClusterConfig")
		c["type"] = "STATIC"
		c["loadAssignment"] = assignment(name, at.redis, m{"filterMetadata": m{"envoy.transport_socket_match": m{"tlsMode": "istio"}}})
		walk(c["transportSocketMatches"], func(o m) { fromFiles(o, at.certs) })
		return
	}
	delete(c, "transportSocketMatches")
	if !strings.Contains(name, "|") {
		return // not a service's
	}
	delete(c, "transportSocket") // mutual TLS with secrets from istiod's agent
	for _, field := range []string{"edsClusterConfig", "upstreamBindConfig", "lbPolicy", "originalDstLbConfig"} {
		delete(c, field)
	}
	c["type"] = "STATIC"
	c["loadAssignment"] = assignment(name, at.upstream, nil)
}

func assignment(name, addr string, metadata m) m {
	host, port, _ := strings.Cut(addr, ":")
	endpoint := m{"endpoint": m{"address": m{"socketAddress": m{"address": host, "portValue": json.Number(port)}}}}
	if metadata != nil {
		endpoint["metadata"] = metadata
	}
	return m{"clusterName": name, "endpoints": []any{m{"lbEndpoints": []any{endpoint}}}}
}

// fromFiles puts files in the place of the secrets that istiod's agent serves.
func fromFiles(o m, certs *stacktest.Certificates) {
	if o["tlsCertificateSdsSecretConfigs"] == nil {
		return
	}
	delete(o, "tlsCertificateSdsSecretConfigs")
	o["tlsCertificates"] = []any{m{
		"certificateChain": m{"filename": certs.ClientCert}, "privateKey": m{"filename": certs.ClientKey},
	}}
	combined, _ := o["combinedValidationContext"].(m)
	delete(o, "combinedValidationContext")
	context, _ := combined["defaultValidationContext"].(m)
	context["trustedCa"] = m{"filename": certs.CA}
	o["validationContext"] = context
}

// start runs it.
func start(t *testing.T, c *envoyconfig.Config, env ...string) *stack.Envoy {
	t.Helper()
	e, err := stacktest.Envoy(t, stack.EnvoyOptions{Config: c, Workers: 2, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
