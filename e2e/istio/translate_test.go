package istio

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"istio.io/istio/pilot/pkg/model"
	v3 "istio.io/istio/pilot/pkg/xds/v3"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/crd"
	"istio.io/istio/pkg/test/env"

	"sluice/internal/framer"
)

// m is a JSON object.
type m = map[string]any

// xdsConfig is what istiod hands to one proxy.
type xdsConfig struct {
	listeners, clusters []m
	routes              map[string]m // by name
	extensions          map[string]m // filters that come by ECDS, by name
}

// translate has istiod, in this process, make a proxy's configuration out of
// Kubernetes objects.
func translate(t *testing.T, objects []string, proxy *model.Proxy, nodeType string) xdsConfig {
	t.Helper()
	text := strings.Join(objects, "\n---\n")
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{ConfigString: text, KubernetesObjectString: text})
	p := server.SetupProxy(proxy)
	out := xdsConfig{routes: map[string]m{}, extensions: map[string]m{}}
	for _, l := range server.Listeners(p) {
		out.listeners = append(out.listeners, toJSON(t, l))
	}
	for _, c := range server.Clusters(p) {
		out.clusters = append(out.clusters, toJSON(t, c))
	}
	for _, r := range server.Routes(p) {
		out.routes[r.GetName()] = toJSON(t, r)
	}
	checkManagers(t, out.listeners, proxy.Type == model.Router)
	checkPipe(t, out)
	names := discovered(out.listeners)
	if len(names) == 0 {
		t.Fatal("istiod gave this proxy no filter by ECDS: the WasmPlugin isn't attached")
	}
	id := nodeType + "~" + p.IPAddresses[0] + "~pod." + p.ConfigNamespace + "~" + p.ConfigNamespace + ".svc.cluster.local"
	stream := server.ConnectADS().WithType(v3.ExtensionConfigurationType).WithMetadata(*p.Metadata).WithID(id)
	answer := stream.RequestResponseAck(t, &discovery.DiscoveryRequest{
		Node:          &core.Node{Id: id, Metadata: p.Metadata.ToStruct()},
		ResourceNames: names,
	})
	for _, r := range answer.GetResources() {
		x := &core.TypedExtensionConfig{}
		if err := r.UnmarshalTo(x); err != nil {
			t.Fatal(err)
		}
		out.extensions[x.GetName()] = toJSON(t, x)
	}
	return out
}

func toJSON(t *testing.T, message proto.Message) m {
	t.Helper()
	text, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var out m
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// discovered are the names of the HTTP filters that come by ECDS.
func discovered(listeners []m) []string {
	var names []string
	walk(toAny(listeners), func(x m) {
		if name, _ := x["name"].(string); x["configDiscovery"] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// checkManagers looks at the HTTP connection managers that have the plugin: the
// EnvoyFilter's patch has to have arrived there.
func checkManagers(t *testing.T, listeners []m, gateway bool) {
	t.Helper()
	walk(toAny(listeners), func(o m) {
		filters, _ := o["httpFilters"].([]any)
		if len(discovered([]m{{"httpFilters": filters}})) == 0 {
			return
		}
		log, err := json.Marshal(o["accessLog"])
		if err != nil || !strings.Contains(string(log), "wasm.sluice.decision:PLAIN") {
			t.Errorf("the access log doesn't tell decisions: %s", log)
		}
		if o["streamIdleTimeout"] != "60s" {
			t.Errorf("stream_idle_timeout is %v", o["streamIdleTimeout"])
		}
		if gateway && o["useRemoteAddress"] != true {
			t.Errorf("use_remote_address is %v", o["useRemoteAddress"])
		}
	})
}

// checkPipe looks for the one cluster that the EnvoyFilter adds for the plugin, whole;
// none of Istio's own may have got its filters. Listeners that the filter adds are
// behind that cluster.
func checkPipe(t *testing.T, x xdsConfig) {
	t.Helper()
	var pipe m
	for _, c := range x.clusters {
		filters := 0
		walk(c, func(o m) {
			if list, _ := o["httpFilters"].([]any); len(list) > 0 {
				filters += len(list)
			}
		})
		if c["name"] != "redis_pipe" {
			if filters > 0 || c["upstreamConfig"] != nil {
				t.Errorf("cluster %v has filters of the pipe", c["name"])
			}
			continue
		}
		if pipe != nil || filters != 2 || c["upstreamConfig"] == nil {
			t.Errorf("the pipe is there already, or not whole: %v", c)
		}
		pipe = c
		walk(c, func(o m) {
			code, ok := o["inlineBytes"].(string)
			if !ok {
				return
			}
			if module, err := base64.StdEncoding.DecodeString(code); err != nil || !bytes.Equal(module, framer.Module()) {
				t.Errorf("the pipe's filter isn't the one that the tool has (%v)", err)
			}
			filters = -1
		})
		if filters != -1 {
			t.Error("the pipe's filter has no module")
		}
	}
	if pipe == nil {
		t.Fatal("istiod gave this proxy no cluster redis_pipe")
	}
	var behind any
	walk(pipe, func(o m) {
		if a, ok := o["envoyInternalAddress"].(m); ok {
			behind = a["serverListenerName"]
		}
	})
	for _, l := range x.listeners {
		name, _ := l["name"].(string)
		if !strings.HasPrefix(name, "redis_") {
			continue
		}
		if behind != name {
			t.Errorf("the pipe leads to %v, and there is a listener %s", behind, name)
		}
		behind = nil
	}
	if behind != nil {
		t.Errorf("the pipe leads to %v, which isn't there", behind)
	}
}

func toAny(list []m) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

// walk calls f for every object below v, parents first.
func walk(v any, f func(m)) {
	switch v := v.(type) {
	case m:
		f(v)
		for _, x := range v {
			walk(x, f)
		}
	case []any:
		for _, x := range v {
			walk(x, f)
		}
	}
}

// schemas are this Istio's own custom resource definitions.
var schemas = sync.OnceValues(func() (*crd.Validator, error) {
	return crd.NewValidatorFromFiles(filepath.Join(env.IstioSrc, "manifests/charts/base/files/crd-all.gen.yaml"))
})

// checkSchemas has every object pass the schema of its definition, CEL rules
// included.
func checkSchemas(t *testing.T, objects []string) {
	t.Helper()
	v, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range objects {
		if err := v.ValidateCustomResourceYAML(doc, nil); err != nil {
			t.Errorf("%v\n%s", err, doc)
		}
	}
}
