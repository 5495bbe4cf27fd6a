package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/stack/stacktest"
)

// deps lists what a package's compiled form depends on, for the module's own
// target, standard library included.
func deps(t *testing.T, pkg string, tags ...string) map[string]bool {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-tags", strings.Join(tags, ","), pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pkg, err)
	}
	set := make(map[string]bool)
	for _, p := range strings.Fields(string(out)) {
		set[p] = true
	}
	if !set[pkg] {
		t.Fatalf("go list %s names no dependency", pkg)
	}
	return set
}

// Data flows one way: config, policy, plan, link, verdict, answer. A package
// may know those named here, of this module, and no others.
func TestDependencyDirections(t *testing.T) {
	allowed := map[string][]string{
		"sluice/redisproto":          {},
		"sluice/lua":                 {"internal/digest"},
		"sluice/internal/limit":      {},
		"sluice/internal/slot":       {},
		"sluice/internal/limit/zone": {"internal/limit"},
		"sluice/internal/source":     {"internal/ipaddr"},
		"sluice/internal/key":        {"internal/ipaddr", "internal/digest", "internal/source", "internal/limit"},
		"sluice/internal/regex":      {},
		"sluice/internal/match":      {"internal/ipaddr", "internal/regex", "internal/source"},
		"sluice/internal/config":     {"internal/ipaddr", "internal/digest", "internal/jsontext", "internal/key", "internal/limit", "internal/limit/zone", "internal/match", "internal/regex", "internal/source"},
		"sluice/internal/engine":     {"internal/call", "internal/ipaddr", "internal/digest", "internal/config", "internal/jsontext", "internal/override", "internal/key", "internal/limit", "internal/limit/zone", "internal/match", "internal/regex", "internal/slot", "internal/source", "redisproto", "lua"},
		"sluice/internal/call":       {"redisproto"},
		"sluice/internal/link":       {"internal/call", "redisproto"},
		"sluice/internal/goabi":      {},
		"sluice/internal/host":       {"internal/goabi"},
		"sluice/plugin": {
			"internal/call", "internal/config", "internal/digest", "internal/ipaddr", "internal/jsontext", "internal/engine", "internal/link", "internal/host", "internal/goabi",
			"internal/key", "internal/limit", "internal/limit/zone", "internal/match", "internal/regex", "internal/slot", "internal/source", "internal/protostruct", "internal/usage", "internal/version", "internal/breaker", "internal/local", "internal/override", "redisproto", "lua",
		},
		"sluice/internal/rules":       {"internal/ipaddr", "internal/digest", "internal/jsontext", "internal/config", "internal/key", "internal/limit", "internal/limit/zone", "internal/match", "internal/regex", "internal/source"},
		"sluice/internal/ipaddr":      {},
		"sluice/internal/digest":      {},
		"sluice/internal/protostruct": {},
		"sluice/internal/usage":       {"internal/jsontext"},
		"sluice/internal/jsontext":    {},
		"sluice/internal/override":    {},
		"sluice/internal/version":     {},
		"sluice/internal/breaker":     {},
		"sluice/internal/local":       {"internal/host", "internal/limit", "internal/goabi"},
	}
	for pkg, may := range allowed {
		ok := map[string]bool{pkg: true}
		for _, m := range may {
			ok["sluice/"+m] = true
		}
		for d := range deps(t, pkg) {
			own := strings.HasPrefix(d, "sluice/")
			if own && !ok[d] && !strings.HasPrefix(d, "sluice/internal/goabi/") {
				t.Errorf("%s must not depend on %s", pkg, d)
			}
		}
	}
}

// These know nothing beyond the standard library.
func TestStandardLibraryOnly(t *testing.T) {
	for _, pkg := range []string{"sluice/redisproto", "sluice/lua", "sluice/internal/limit", "sluice/internal/config", "sluice/internal/jsontext", "sluice/internal/usage", "sluice/internal/rules"} {
		for d := range deps(t, pkg) {
			if first, _, _ := strings.Cut(d, "/"); strings.Contains(first, ".") {
				t.Errorf("%s must not depend on %s", pkg, d)
			}
		}
	}
}

// maxModule is the largest that the compiled plugin may be, bytes: each byte of it
// is about 20 in a gateway's memory. make size says what it is made of.
const maxModule = 3_500_000

// The module's size is memory in every gateway: what bloats it stays out.
func TestModuleStaysSmall(t *testing.T) {
	if info, err := os.Stat(stacktest.Module(t)); err != nil {
		t.Error(err)
	} else if info.Size() > maxModule {
		t.Errorf("the module has %d bytes, at most %d are allowed", info.Size(), maxModule)
	}
	if info, err := os.Stat(stacktest.HigressModule(t)); err != nil {
		t.Error(err)
	} else if info.Size() > maxModule {
		t.Errorf("Higress's module has %d bytes, at most %d are allowed", info.Size(), maxModule)
	}
	if deps(t, "sluice/plugin")["sluice/internal/rules"] {
		t.Error("Higress's rules must not be in the stock module")
	}
	for _, tags := range [][]string{nil, {"higress"}} {
		const pkg = "sluice/plugin"
		got := deps(t, pkg, tags...)
		for d := range got {
			if host, _, _ := strings.Cut(d, "/"); strings.Contains(host, ".") {
				t.Errorf("%s must not pull %s into the module, which has no code of others but Go's", pkg, d)
			}
		}
		for _, heavy := range []string{"net/http", "encoding/json", "text/template", "html/template", "encoding/gob", "go/ast", "log/slog", "math/big",
			"crypto/sha1", "crypto/sha256", "time/tzdata", "net/netip", "regexp", "regexp/syntax",
			"fmt", "os", "syscall", "time", "io/fs", "embed", "runtime/debug", "path", "internal/poll", "log"} {
			if got[heavy] {
				t.Errorf("%s must not pull %s into the module", pkg, heavy)
			}
		}
	}
}

// Package unicode's tables of categories and scripts are 65 kB, and 62 kB of code if
// they are looked up by name: internal/regex has its own. What is here of it comes
// with package strings anyhow.
func TestModuleUsesLittleOfUnicode(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-tags", "tinygo,higress", "-f", "{{$d := .Dir}}{{if not .Standard}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{end}}", "sluice/plugin")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	use := regexp.MustCompile(`\bunicode\.[A-Z]\w*`)
	files := strings.Fields(string(out))
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range use.FindAllString(string(src), -1) {
			switch name {
			case "unicode.MaxRune", "unicode.SimpleFold", "unicode.CaseRanges":
			default:
				t.Errorf("%s must not use %s", file, name)
			}
		}
	}
}
