package istio

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"istio.io/istio/pilot/pkg/model"

	"sluice/internal/manifest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// limits admits n requests an hour for each value of x-key; nobody else may
// decide when Redis doesn't.
func limits(n int, more string) string {
	return fmt.Sprintf("redis: {timeout: 10s%s}\non_error: deny\nlimits:\n- {name: key, key: header:x-key, rate: %d/hour}\n", more, n)
}

// generate runs the tool. It returns the objects that Istio reads, each a
// document, and what pods need besides.
func generate(t *testing.T, config string, o manifest.Options) (objects []string, pods string) {
	t.Helper()
	o.Target = manifest.Istio
	o.Image = "file://" + stacktest.Module(t)
	files, err := manifest.Make([]byte(config), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == "pods.yaml" || f.Name == "gateway-options.yaml" {
			pods = string(f.Text)
			continue
		}
		objects = append(objects, string(f.Text))
	}
	return objects, pods
}

var client = &http.Client{Timeout: 20 * time.Second}

// send sends a request; its body is read already.
func send(t *testing.T, addr, key string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "app.example"
	req.Header.Set("x-key", key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

// exactly sends n+2 requests of one key, and expects n to pass.
func exactly(t *testing.T, addr, key string, n int) {
	t.Helper()
	for i := range n + 2 {
		want := http.StatusOK
		if i >= n {
			want = http.StatusTooManyRequests
		}
		if resp := send(t, addr, key); resp.StatusCode != want {
			t.Fatalf("request %d of key %s: %d, expected %d\n%v", i+1, key, resp.StatusCode, want, resp.Header)
		}
	}
}

// redisInMesh is Redis as a service.
const redisInMesh = "redis.data.svc.cluster.local"

const gatewayObjects = `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: web, namespace: ingress}
spec:
  selector: {role: web}
  servers: [{port: {number: 8080, name: http, protocol: HTTP}, hosts: ["*"]}]
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: app, namespace: ingress}
spec: {hosts: [app.example], ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, location: MESH_EXTERNAL, endpoints: [{address: 127.0.0.1}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: app, namespace: ingress}
spec: {hosts: ["*"], gateways: [web], http: [{route: [{destination: {host: app.example, port: {number: 80}}}]}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: redis, namespace: data}
spec: {hosts: [redis.data.svc.cluster.local], addresses: [10.2.0.1], ports: [{number: 6379, name: tcp-redis, protocol: TCP}], resolution: STATIC, location: MESH_INTERNAL, endpoints: [{address: 10.2.0.2, serviceAccount: redis, labels: {security.istio.io/tlsMode: istio}}]}
`

// gatewayProxy is a gateway's pod.
func gatewayProxy() *model.Proxy {
	labels := map[string]string{"role": "web", "gateway.networking.k8s.io/gateway-name": "web", "istio": "ingressgateway"}
	return &model.Proxy{
		Type: model.Router, ConfigNamespace: "ingress", Labels: labels, IPAddresses: []string{"10.0.0.1"},
		Metadata: &model.NodeMetadata{Namespace: "ingress", Labels: labels},
	}
}

// gatewayListener is istiod's name of the listener that the Gateway asks for.
const gatewayListener = "0.0.0.0_8080"

// translateGateway has istiod make a gateway's configuration.
func translateGateway(t *testing.T, config string, o manifest.Options) xdsConfig {
	t.Helper()
	o.Namespace = "ingress"
	objects, _ := generate(t, config, o)
	checkSchemas(t, objects)
	x := translate(t, append(objects, gatewayObjects), gatewayProxy(), "router")
	for _, l := range x.listeners {
		if l["name"] == gatewayListener {
			l["address"] = m{"socketAddress": m{"address": stack.Host, "portValue": 0}}
		}
	}
	return x
}

// runGateway starts what istiod makes of a gateway.
func runGateway(t *testing.T, config string, o manifest.Options, at place, env ...string) *stack.Envoy {
	t.Helper()
	at.upstream = stacktest.Upstream(t).Addr
	if at.folder == "" {
		at.folder = t.TempDir()
	}
	return start(t, static(t, translateGateway(t, config, o), at), env...)
}

// The stored examples pass Istio's schemas too, and a mistake doesn't.
func TestSchemasOfTheGoldens(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(stacktest.Root(t), "testdata/manifest/istio-*/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, file := range files {
		switch filepath.Base(file) {
		case "envoyfilter.yaml", "wasmplugin.yaml":
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, string(text))
		}
	}
	if len(objects) < 14 {
		t.Fatalf("only %d objects", len(objects))
	}
	checkSchemas(t, objects)
	v, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range [][2]string{{"FAIL_RELOAD", "FAIL_OFTEN"}, {"phase:", "phases:"}, {"operation: ADD", "operation: 7"}} {
		for _, o := range objects {
			if broken := strings.Replace(o, edit[0], edit[1], 1); broken != o && v.ValidateCustomResourceYAML(broken, nil) == nil {
				t.Errorf("%q in the place of %q passes", edit[1], edit[0])
			}
		}
	}
}

func TestGatewayByNameAndByLabels(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "s3cret"})
	config := limits(5, ", password_env: REDIS_PASSWORD")
	for name, o := range map[string]manifest.Options{
		"name":   {Gateway: "web", PasswordSecret: "redis"},
		"labels": {Selector: []string{"istio=ingressgateway"}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Redis = []string{redis.Addr}
			e := runGateway(t, config, o, place{}, "REDIS_PASSWORD=s3cret")
			exactly(t, e.Listener(gatewayListener), name, 5)
		})
	}
}

func TestGatewayOverTLS(t *testing.T) {
	certs := stacktest.NewCertificates(t, "redis.example")
	_, addr := stacktest.TLSRedis(t, stack.RedisOptions{}, certs, true)
	tls := &manifest.TLS{CA: certs.CA, Name: "redis.example", Cert: certs.ClientCert, Key: certs.ClientKey}
	e := runGateway(t, limits(5, ""), manifest.Options{Gateway: "web", Redis: []string{addr}, TLS: tls}, place{})
	exactly(t, e.Listener(gatewayListener), "tls", 5)
}

func TestGatewayWithARedisCluster(t *testing.T) {
	cluster := stacktest.RedisCluster(t, 3)
	e := runGateway(t, limits(5, ""), manifest.Options{Gateway: "web", RedisCluster: true, Redis: []string{cluster.Nodes[0].Addr, cluster.Nodes[1].Addr}}, place{})
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		exactly(t, e.Listener(gatewayListener), key, 5)
	}
}

// Redis is a service of the mesh: the pipe's last hop is Istio's own cluster,
// with the TLS context that istiod made, and Redis takes only clients with a
// certificate of the mesh's authority.
func TestGatewayWithRedisInTheMesh(t *testing.T) {
	certs := stacktest.NewCertificates(t, "spiffe://cluster.local/ns/data/sa/redis")
	_, addr := stacktest.TLSRedis(t, stack.RedisOptions{}, certs, true)
	e := runGateway(t, limits(5, ""), manifest.Options{Gateway: "web", InMesh: true, Redis: []string{redisInMesh + ":6379"}},
		place{redis: addr, certs: &certs})
	exactly(t, e.Listener(gatewayListener), "mesh", 5)
	stats, err := e.Admin.Get(t.Context(), "/stats?filter=outbound.6379.*ssl.handshake")
	if err != nil || !strings.Contains(string(stats), "ssl.handshake: ") || strings.Contains(string(stats), "handshake: 0") {
		t.Errorf("no handshake with Redis: %s %v", stats, err)
	}
}

// A changed limit reaches the proxy as a new extension, without a new listener:
// counts stay, and the next request is decided by it.
func TestAChangedLimitTakesEffect(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	o := manifest.Options{Gateway: "web", Redis: []string{redis.Addr}}
	at := place{folder: t.TempDir()}
	e := runGateway(t, limits(5, ""), o, at)
	exactly(t, e.Listener(gatewayListener), "k", 5)
	for name, x := range translateGateway(t, limits(8, ""), o).extensions {
		writeExtension(t, at.folder, name, x)
	}
	deadline := time.Now().Add(30 * time.Second)
	for send(t, e.Listener(gatewayListener), "k").StatusCode != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("the change took no effect")
		}
		time.Sleep(50 * time.Millisecond)
	}
	exactly(t, e.Listener(gatewayListener), "k", 2) // the sixth has just passed
}
