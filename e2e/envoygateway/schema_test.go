package envoygateway

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// moduleFolder is where Envoy Gateway's module is, at the version in go.mod.
func moduleFolder(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-json", "github.com/envoyproxy/gateway").Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		t.Fatalf("no folder of the module: %v\n%s", err, out)
	}
	return module.Dir
}

// definition reads a custom resource definition out of Envoy Gateway's chart.
func definition(t *testing.T, plural string) *apiextensions.JSONSchemaProps {
	t.Helper()
	file := filepath.Join(moduleFolder(t), "charts/gateway-crds-helm/templates/generated/gateway.envoyproxy.io_"+plural+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept [][]byte
	for _, line := range bytes.Split(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte("{{-")) { // the chart's own switch
			kept = append(kept, line)
		}
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(bytes.Join(kept, []byte("\n")), &v1); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	return &props
}

// schemaErrors are what the API server of a cluster with that definition would
// say about an object: wrong values, unknown fields, broken rules.
func schemaErrors(t *testing.T, props *apiextensions.JSONSchemaProps, object []byte) []string {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	defaulting.Default(o, structural)
	var wrong []string
	for _, e := range validation.ValidateCustomResource(nil, o, validator) {
		wrong = append(wrong, e.Error())
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	errs, _ := rules.Validate(context.Background(), nil, structural, o, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range errs {
		wrong = append(wrong, e.Error())
	}
	for _, path := range pruning.PruneWithOptions(o, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if !strings.HasPrefix(path, "metadata.") {
			wrong = append(wrong, "unknown field "+path)
		}
	}
	return wrong
}
