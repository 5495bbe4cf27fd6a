package envoygateway

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/manifest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// limits admits n requests an hour for each value of x-key.
func limits(n int) string {
	return fmt.Sprintf("redis: {timeout: 10s, password_env: REDIS_PASSWORD}\non_error: deny\nlimits:\n- {name: key, key: header:x-key, rate: %d/hour}\n", n)
}

// generate runs the tool.
func generate(t *testing.T, config string, o manifest.Options) map[string]string {
	t.Helper()
	o.Target, o.Gateway, o.Namespace = manifest.EnvoyGateway, "web", "ingress"
	files, err := manifest.Make([]byte(config), o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Text)
	}
	return out
}

// Every variant's objects pass the schemas of this Envoy Gateway, and a mistake
// doesn't.
func TestSchemas(t *testing.T) {
	plurals := map[string]string{"envoyproxy.yaml": "envoyproxies", "policy.yaml": "envoyextensionpolicies"}
	for name, o := range map[string]manifest.Options{
		"image":   {Image: "oci://registry.example/sluice:1", Redis: []string{"redis.data:6379"}, PasswordSecret: "redis"},
		"file":    {Image: "https://files.example/sluice.wasm", SHA256: strings.Repeat("ab", 32), Redis: []string{"redis.data:6379"}, TLS: &manifest.TLS{CA: "secret:ca"}},
		"cluster": {Image: "oci://registry.example/sluice:1", PullSecret: "pull", RedisCluster: true, Redis: []string{"redis.data:6379"}, TLS: &manifest.TLS{CA: "configmap:ca"}},
	} {
		for file, text := range generate(t, limits(5), o) {
			for _, e := range schemaErrors(t, definition(t, plurals[file]), []byte(text)) {
				t.Errorf("%s: %s: %s", name, file, e)
			}
		}
	}
	stored, err := filepath.Glob(filepath.Join(stacktest.Root(t), "testdata/manifest/envoy-gateway*/*.yaml"))
	if err != nil || len(stored) < 4 {
		t.Fatalf("goldens: %v %v", stored, err)
	}
	for _, file := range stored {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range schemaErrors(t, definition(t, plurals[filepath.Base(file)]), text) {
			t.Errorf("%s: %s", file, e)
		}
	}
	policy := generate(t, limits(5), manifest.Options{Image: "oci://registry.example/sluice:1", Redis: []string{"redis.data:6379"}})["policy.yaml"]
	for _, edit := range [][2]string{
		{"failOpen: false", "failOpen: 7"}, {"failOpen: false", "failAjar: true"}, {"type: Image", "type: HTTP"},
	} {
		broken := strings.Replace(policy, edit[0], edit[1], 1)
		if broken == policy || len(schemaErrors(t, definition(t, "envoyextensionpolicies"), []byte(broken))) == 0 {
			t.Errorf("%q in the place of %q passes", edit[1], edit[0])
		}
	}
}

const routes = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: ingress}
spec:
  gatewayClassName: eg
  infrastructure: {parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: sluice}}
  listeners: [{name: http, protocol: HTTP, port: %d}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: ingress}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{group: gateway.envoyproxy.io, kind: Backend, name: app}]}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: app, namespace: ingress}
spec: {endpoints: [{ip: {address: 127.0.0.1, port: %s}}]}
`

// Outside of Kubernetes Envoy Gateway hands plugins over as it does inside, but
// with what only exists inside: its own service's name, a mounted authority, and
// a Secret with the proxies' certificate. These objects say where they are here.
const standalone = `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyPatchPolicy
metadata: {name: standalone, namespace: ingress}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: web}
  type: JSONPatch
  jsonPatches:
  - type: type.googleapis.com/envoy.config.cluster.v3.Cluster
    name: wasm_cluster
    operation: {op: replace, path: /transport_socket/typed_config/common_tls_context/validation_context/trusted_ca/filename, value: %s}
  - type: type.googleapis.com/envoy.config.cluster.v3.Cluster
    name: wasm_cluster
    operation: {op: replace, path: /load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/address, value: 127.0.0.1}
---
apiVersion: v1
kind: Secret
metadata: {name: envoy, namespace: envoy-gateway-system}
type: kubernetes.io/tls
data: {ca.crt: %s, tls.crt: %s, tls.key: %s}
`

const controlPlane = `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [%[1]s/objects]}}
    infrastructure: {type: Host, host: {configHome: %[1]s/config, dataHome: %[1]s/data, stateHome: %[1]s/state, runtimeDir: %[1]s/run}}
logging: {level: {default: info}}
extensionApis: {enableBackend: true, enableEnvoyPatchPolicy: true}
`

// Envoy Gateway takes the image out of a registry, makes the proxy's
// configuration and starts an Envoy, which fetches the plugin from it, and limits
// exactly. A changed policy takes effect, and no count is lost.
func TestEnvoyGateway(t *testing.T) {
	// Its control plane has fixed ports.
	if err := stack.Locked(filepath.Join(stacktest.Root(t), ".tools", "envoygateway.lock"), func() error {
		runEnvoyGateway(t)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func runEnvoyGateway(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "s3cret"})
	o := manifest.Options{Image: pushImage(t), Redis: []string{redis.Addr}}
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, d := range []string{"objects", "data/envoy-versions/1.40.0/bin", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Where Envoy Gateway looks before it downloads one.
	write(t, filepath.Join(dir, "data/envoy-versions/1.40.0/bin/envoy"), "#!/bin/sh\nexec "+stacktest.EnvoyBinary(t)+" \"$@\"\n", 0o755)
	write(t, filepath.Join(dir, "gateway.yaml"), fmt.Sprintf(controlPlane, dir), 0o644)
	binary := build(t, dir)
	run(t, dir, binary, "certgen", "--local", "--config-home", filepath.Join(dir, "config"))

	objects := filepath.Join(dir, "objects")
	files := generate(t, limits(5), o)
	// The proxy is a process of this machine, not a Deployment.
	host := strings.Replace(files["envoyproxy.yaml"], "\nspec:\n", "\nspec:\n  provider: {type: Host, host: {envoyVersion: \"1.40.0\"}}\n", 1)
	write(t, filepath.Join(objects, "envoyproxy.yaml"), host, 0o644)
	write(t, filepath.Join(objects, "policy.yaml"), files["policy.yaml"], 0o644)
	_, upstream, _ := strings.Cut(stacktest.Upstream(t).Addr, ":")
	write(t, filepath.Join(objects, "routes.yaml"), fmt.Sprintf(routes, port, upstream), 0o644)
	certs := filepath.Join(dir, "config/certs/envoy")
	write(t, filepath.Join(objects, "standalone.yaml"), fmt.Sprintf(standalone, filepath.Join(certs, "ca.crt"),
		encoded(t, certs, "ca.crt"), encoded(t, certs, "tls.crt"), encoded(t, certs, "tls.key")), 0o644)

	serve(t, dir, binary)
	addr := stack.Addr(port)
	eventually(t, "the gateway answers", func() bool { return send(t, addr, "first") == http.StatusOK })
	exactly(t, addr, "k", 5)

	write(t, filepath.Join(objects, "policy.yaml"), generate(t, limits(8), o)["policy.yaml"], 0o644)
	eventually(t, "the changed limit holds", func() bool { return send(t, addr, "k") == http.StatusOK })
	exactly(t, addr, "k", 2)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func encoded(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// build compiles Envoy Gateway at the version in go.mod.
func build(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "envoy-gateway")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "github.com/envoyproxy/gateway/cmd/envoy-gateway")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build Envoy Gateway: %v\n%s", err, text)
	}
	return out
}

// environment keeps what Envoy Gateway writes within the test's folder.
func environment(dir string) []string {
	return append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "REDIS_PASSWORD=s3cret")
}

func run(t *testing.T, dir, binary string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = environment(dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("envoy-gateway %v: %v\n%s", args, err, text)
	}
}

// serve runs the control plane, and with it its Envoy, until the test ends.
func serve(t *testing.T, dir, binary string) {
	t.Helper()
	path := filepath.Join(t.ArtifactDir(), "envoy-gateway.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "server", "-c", filepath.Join(dir, "gateway.yaml"))
	cmd.Env = environment(dir)
	cmd.Stdout, cmd.Stderr = log, log
	// It ends its Envoy when it is asked to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		log.Close()
		if t.Failed() {
			t.Logf("the end of Envoy Gateway's log:\n%s", stack.Tail(path, 60))
		}
	})
}

var client = &http.Client{Timeout: 20 * time.Second}

// send returns a request's status, or 0 when nothing answers.
func send(t *testing.T, addr, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-key", key)
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// exactly sends n+2 requests of one key, and expects n to pass.
func exactly(t *testing.T, addr, key string, n int) {
	t.Helper()
	for i := range n + 2 {
		want := http.StatusOK
		if i >= n {
			want = http.StatusTooManyRequests
		}
		if got := send(t, addr, key); got != want {
			t.Fatalf("request %d of key %s: %d, expected %d", i+1, key, got, want)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
