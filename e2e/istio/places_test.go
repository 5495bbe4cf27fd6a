package istio

import (
	"fmt"
	"strings"
	"testing"

	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pkg/test"

	"sluice/internal/manifest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// A sidecar limits what comes in. Its inbound listener serves all ports and
// tells them apart by the port that was meant, which here is the one that it is
// bound to.
func TestSidecar(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	objects, pods := generate(t, limits(5, ""), manifest.Options{
		Mode: manifest.Sidecar, Namespace: "shop", Selector: []string{"app=shop"}, Redis: []string{redis.Addr},
	})
	if !strings.Contains(pods, "extraStatTags") {
		t.Errorf("pods get no labels for metrics:\n%s", pods)
	}
	checkSchemas(t, objects)
	labels := map[string]string{"app": "shop"}
	x := translate(t, append(objects, fmt.Sprintf(`
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: shop, namespace: shop}
spec: {hosts: [shop.example], addresses: [10.3.0.1], ports: [{number: %d, name: http, protocol: HTTP}], resolution: STATIC, location: MESH_INTERNAL, endpoints: [{address: 10.3.0.2, labels: {app: shop}}]}
`, port)), &model.Proxy{
		Type: model.SidecarProxy, ConfigNamespace: "shop", Labels: labels, IPAddresses: []string{"10.3.0.2"},
		Metadata: &model.NodeMetadata{Namespace: "shop", Labels: labels},
	}, "sidecar")
	var kept []m
	for _, l := range x.listeners {
		if l["name"] == "virtualInbound" {
			l["address"] = m{"socketAddress": m{"address": stack.Host, "portValue": port}}
			asMeant(t, l)
			kept = append(kept, l)
		} else if len(discovered([]m{l})) > 0 {
			t.Errorf("the plugin is on listener %v, for what goes out", l["name"])
		}
	}
	x.listeners = kept
	at := place{upstream: stacktest.Upstream(t).Addr, folder: t.TempDir()}
	e := start(t, static(t, x, at))
	exactly(t, e.Listener("virtualInbound"), "sidecar", 5)
}

// asMeant has a listener go without the kernel's word on where a connection was
// meant to go, and without certificates.
func asMeant(t *testing.T, l m) {
	t.Helper()
	delete(l, "useOriginalDst")
	delete(l, "additionalAddresses")
	l["listenerFilters"] = without(l["listenerFilters"], func(f any) bool {
		name, _ := f.(m)["name"].(string)
		return strings.Contains(name, "original_dst")
	})
	chains := without(l["filterChains"], func(c any) bool { return c.(m)["transportSocket"] != nil })
	if len(chains) == 0 {
		t.Fatal("no filter chain without TLS")
	}
	l["filterChains"] = chains
}

const waypointObjects = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: waypoint, namespace: shop}
spec: {gatewayClassName: waypoint, listeners: [{name: mesh, port: 15008, protocol: HBONE}]}
status: {addresses: [{type: Hostname, value: waypoint.shop.svc.cluster.local}]}
---
apiVersion: v1
kind: Service
metadata:
  name: waypoint
  namespace: shop
  labels: {gateway.istio.io/managed: istio.io-mesh-controller, gateway.networking.k8s.io/gateway-name: waypoint}
spec: {clusterIP: 10.4.0.1, ports: [{appProtocol: hbone, name: mesh, port: 15008}], selector: {gateway.networking.k8s.io/gateway-name: waypoint}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: waypoint-a, namespace: shop, labels: {gateway.networking.k8s.io/gateway-name: waypoint}}
spec: {address: 10.4.0.2, labels: {gateway.networking.k8s.io/gateway-name: waypoint}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: app, namespace: shop, labels: {istio.io/use-waypoint: waypoint}}
spec: {hosts: [app.example], addresses: [10.4.0.3], ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, workloadSelector: {labels: {app: app}}}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: app-a, namespace: shop, labels: {app: app}, annotations: {ambient.istio.io/redirection: enabled}}
spec: {address: 10.4.0.4, labels: {app: app}}
`

// A waypoint limits what goes to the services behind it. Requests reach its
// inner listener through tunnels; here they come to it directly, and it has the
// one service's chain.
func TestWaypoint(t *testing.T) {
	test.SetForTest(t, &features.EnableAmbient, true)
	redis := stacktest.Redis(t, stack.RedisOptions{})
	objects, _ := generate(t, limits(5, ""), manifest.Options{
		Mode: manifest.Waypoint, Namespace: "shop", Gateway: "waypoint", Redis: []string{redis.Addr},
	})
	checkSchemas(t, objects)
	labels := map[string]string{"gateway.networking.k8s.io/gateway-name": "waypoint", "gateway.istio.io/managed": "istio.io-mesh-controller"}
	x := translate(t, append(objects, waypointObjects), &model.Proxy{
		Type: model.Waypoint, ConfigNamespace: "shop", Labels: labels, IPAddresses: []string{"10.4.0.2"},
		Metadata: &model.NodeMetadata{Namespace: "shop", Labels: labels},
	}, "waypoint")
	var kept []m
	for _, l := range x.listeners {
		if l["name"] == "main_internal" {
			kept = append(kept, withOneChain(t, l, "inbound-vip|80|http|app.example"))
		}
	}
	x.listeners = kept
	var clusters []m
	for _, c := range x.clusters {
		if name, _ := c["name"].(string); strings.HasPrefix(name, "inbound-vip|") || strings.HasPrefix(name, "redis_") {
			clusters = append(clusters, c)
		}
	}
	x.clusters = clusters
	at := place{upstream: stacktest.Upstream(t).Addr, folder: t.TempDir()}
	e := start(t, static(t, x, at))
	exactly(t, e.Listener("main_internal"), "waypoint", 5)
}

// withOneChain makes a TCP listener of a waypoint's inner one, with the chain of
// one service.
func withOneChain(t *testing.T, l m, chain string) m {
	t.Helper()
	chains, _ := l["filterChains"].([]any)
	var names []any
	for _, c := range chains {
		names = append(names, c.(m)["name"])
		if c.(m)["name"] == chain {
			return m{
				"name":         l["name"],
				"address":      m{"socketAddress": m{"address": stack.Host, "portValue": 0}},
				"filterChains": []any{c},
			}
		}
	}
	t.Fatalf("no chain %s among %v", chain, names)
	return nil
}
