package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// writeLimits writes a configuration and goes to its folder.
func writeLimits(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("limits.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const oneLimit = "limits:\n- {name: a, key: ip, rate: 5/s}\n"

const (
	envoyLine = "manifest envoy limits.yaml --redis redis:6379 --upstream app:80"
	istioLine = "manifest istio limits.yaml --gateway web -n ingress --redis redis:6379 --image oci://registry/sluice:1"
)

func TestManifestPrintsAndWrites(t *testing.T) {
	writeLimits(t, oneLimit)
	printed, err := sluice(t, strings.Fields(envoyLine)...)
	if err != nil || !strings.Contains(printed, "name: a\n") {
		t.Fatalf("%v\n%s", err, printed)
	}
	if _, err := sluice(t, strings.Fields(envoyLine+" -o envoy.yaml")...); err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile("envoy.yaml"); err != nil || string(written) != printed {
		t.Errorf("the file differs from what is printed (%v)", err)
	}
	out, err := sluice(t, strings.Fields(istioLine+" -o deploy/")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"envoyfilter.yaml", "wasmplugin.yaml", "gateway-options.yaml"} {
		path := filepath.Join("deploy", name)
		if _, err := os.Stat(path); err != nil || !strings.Contains(out, path) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// What is printed for sidecars can be applied as it is: the patch for their pods
// is a comment.
func TestManifestPrintsOnlyObjects(t *testing.T) {
	writeLimits(t, "client_ip: {envoy: true}\n"+oneLimit)
	out, err := sluice(t, strings.Fields("manifest istio limits.yaml --mode sidecar --selector app=x -n shop --redis redis:6379 --image oci://registry/sluice:1")...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "extraStatTags") {
		t.Error("the pods' labels for metrics aren't printed")
	}
	dec := yaml.NewDecoder(strings.NewReader(out))
	for n := 0; ; n++ {
		var doc struct{ Kind string }
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			if n < 2 {
				t.Errorf("only %d documents", n)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if doc.Kind == "" && n < 2 {
			t.Errorf("document %d is no object", n+1)
		}
	}
}

func TestManifestReadsTheStandardInput(t *testing.T) {
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetIn(strings.NewReader(oneLimit))
	root.SetArgs(strings.Fields(strings.Replace(envoyLine, "limits.yaml", "-", 1)))
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "the standard input") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestManifestRefuses(t *testing.T) {
	for line, want := range map[string]struct {
		config string
		code   int
		says   string
	}{
		envoyLine + " --tls-ca /x":                          {oneLimit, exitUsage, "--tls"},
		envoyLine + " --watch /etc/sluice/limits.yaml":      {oneLimit, exitUsage, "-o FOLDER"},
		"manifest envoy limits.yaml":                        {oneLimit, exitUsage, "--redis"},
		"manifest envoy":                                    {oneLimit, exitUsage, "one file"},
		"manifest nginx limits.yaml":                        {oneLimit, exitUsage, "unknown command"},
		istioLine + " --mode mesh":                          {oneLimit, exitUsage, "waypoint"},
		envoyLine:                                           {"redis: {password: hunter2}\n" + oneLimit, exitRefused, "redis.password"},
		envoyLine + " ":                                     {"limits: [{name: a, rate: x}]\n", exitRefused, "limits.yaml:1:26: limits[0].rate"},
		strings.Replace(envoyLine, "limits", "nowhere", 1):  {oneLimit, exitFailed, "nowhere.yaml"},
		istioLine + " --mode sidecar --selector app=x":      {oneLimit, exitRefused, "client_ip"},
		istioLine + " --in-mesh --redis-cluster":            {oneLimit, exitUsage, "--in-mesh"},
		envoyLine + " --redis-cluster --redis 'outbound|6'": {oneLimit, exitUsage, "host:port"},
	} {
		writeLimits(t, want.config)
		_, err := sluice(t, strings.Fields(line)...)
		if exitCode(err) != want.code || err == nil || !strings.Contains(err.Error(), want.says) {
			t.Errorf("sluice %s: exit code %d, %v", line, exitCode(err), err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("sluice %s tells the password: %v", line, err)
		}
	}
}
