package deploytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const kustomizeFolder = "../kustomize"

// kustomize is kustomize build.
func kustomize(t testing.TB, folder string) []object {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(kustomizeFolder, folder))
	if err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

var overlays = map[string]string{
	"istio-gateway": "ConfigMap/sluice-public EnvoyFilter/sluice-redis WasmPlugin/sluice",
	"istio-sidecar": "EnvoyFilter/sluice-redis WasmPlugin/sluice",
	"envoy-gateway": "EnvoyExtensionPolicy/sluice EnvoyProxy/sluice",
}

// What the overlays change has no trace of the base's example left.
func TestOverlays(t *testing.T) {
	for name, want := range overlays {
		objects := kustomize(t, "overlays/"+name)
		if got := strings.Join(names(objects), " "); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
		for _, o := range objects {
			text := marshal(t, o)
			for _, left := range []string{"redis.data.svc", "namespace: ingress", "namespace: shop", "name: web", "app: shop", "rate: 100/s", "sluice:0.1.0"} {
				if strings.Contains(text, left) {
					t.Errorf("%s: %s still has %q of the base", name, o.name(), left)
				}
			}
		}
	}
}

func TestBasesBuild(t *testing.T) {
	for name := range overlays {
		if got := kustomize(t, "base/"+name); len(got) < 2 {
			t.Errorf("%s: %v", name, names(got))
		}
	}
	// Each file of a base is part of it, but for the pods' patch.
	files, err := filepath.Glob(filepath.Join(kustomizeFolder, "base", "*", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		base := filepath.Base(f)
		text, err := os.ReadFile(filepath.Join(filepath.Dir(f), "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if base != "kustomization.yaml" && base != "pods.yaml" && !strings.Contains(string(text), "- "+base+"\n") {
			t.Errorf("%s isn't a resource", f)
		}
	}
}
