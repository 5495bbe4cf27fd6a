package manifest

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// higressFields are the fields of Higress's WasmPlugin and their types, after its
// documentation; its definitions come in no package that tests could read.
var higressFields = map[string]string{
	"url": "!!str", "sha256": "!!str", "imagePullSecret": "!!str", "imagePullPolicy": "!!str",
	"phase": "!!str", "priority": "!!int", "pluginName": "!!str", "failStrategy": "!!str",
	"defaultConfig": "!!map", "defaultConfigDisable": "!!bool", "matchRules": "!!seq", "vmConfig": "!!map",
}

func TestHigressObject(t *testing.T) {
	for _, c := range goldenCases {
		if c.opts.Target != Higress {
			continue
		}
		files := c.make(t)
		if len(files) != 1 {
			t.Fatalf("%d files", len(files))
		}
		doc := parse(string(files[0].Text))
		if at(doc, "apiVersion").Value != "extensions.higress.io/v1alpha1" || at(doc, "kind").Value != "WasmPlugin" {
			t.Error("another kind")
		}
		spec := at(doc, "spec")
		for i := 0; i < len(spec.Content); i += 2 {
			name, value := spec.Content[i].Value, spec.Content[i+1]
			if want, known := higressFields[name]; !known || value.ShortTag() != want {
				t.Errorf("%s is a %s, expected %q", name, value.ShortTag(), want)
			}
		}
		for field, among := range map[string][]string{"failStrategy": {"FAIL_OPEN", "FAIL_CLOSE"}, "phase": {"AUTHN", "AUTHZ", "STATS"}} {
			if !oneOf(at(spec, field), among) {
				t.Errorf("%s is %q", field, at(spec, field).Value)
			}
		}
		redis := at(spec, "defaultConfig", "redis")
		if at(redis, "link").Value != "host" || at(redis, "cluster").Value != "outbound|6379||redis.data.svc.cluster.local" {
			t.Error("not Higress's way to Redis")
		}
		for _, e := range at(spec, "vmConfig", "env").Content {
			if at(e, "valueFrom").Value != "HOST" || at(e, "value") != nil {
				t.Error("a variable with a value of its own")
			}
		}
	}
}

func oneOf(n *yaml.Node, among []string) bool {
	for _, a := range among {
		if n != nil && n.Value == a {
			return true
		}
	}
	return false
}
