package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/version"
	"sluice/internal/wasmfile"
)

func TestVersionOfTheTool(t *testing.T) {
	was := moduleSHA256
	t.Cleanup(func() { moduleSHA256 = was })
	moduleSHA256 = "c0ffee"
	out, err := sluice(t, "version")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sluice " + version.Version, "sha256 c0ffee", "1.33 or later"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	out, err = sluice(t, "version", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got toolVersion
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != version.Version || got.ModuleSHA256 != "c0ffee" || got.MinEnvoy != "1.33" || !strings.HasPrefix(got.Go, "go") {
		t.Errorf("got %+v", got)
	}
	moduleSHA256 = ""
	if out, _ := sluice(t, "version"); !strings.Contains(out, "not known") {
		t.Errorf("without a plugin:\n%s", out)
	}
}

func TestVersionOfAFile(t *testing.T) {
	module, err := wasmfile.Add([]byte("\x00asm\x01\x00\x00\x00"), wasmfile.Stamp{Version: "9.8.7", Go: "go1.30", MinEnvoy: "1.33"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, text := filepath.Join(dir, "x.wasm"), filepath.Join(dir, "text")
	if err := errors.Join(os.WriteFile(file, module, 0o644), os.WriteFile(text, []byte("text"), 0o644)); err != nil {
		t.Fatal(err)
	}
	out, err := sluice(t, "version", file)
	if err != nil || !strings.Contains(out, "sluice 9.8.7") || !strings.Contains(out, "Envoy 1.33 or later") {
		t.Errorf("%v:\n%s", err, out)
	}
	out, err = sluice(t, "version", file, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got moduleVersion
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Version != "9.8.7" || got.Size != len(module) {
		t.Errorf("%v: %s", err, out)
	}
	for name, line := range map[string]string{
		"text":     "version " + text,
		"no file":  "version " + filepath.Join(dir, "ghost"),
		"a folder": "version " + dir,
	} {
		if _, err := sluice(t, strings.Fields(line)...); exitCode(err) != exitFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := sluice(t, "version", file, file); exitCode(err) != exitUsage {
		t.Errorf("two files: %v", err)
	}
}
