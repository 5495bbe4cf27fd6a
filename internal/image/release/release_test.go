package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sluice/internal/image/archive"
)

// copyOf makes a repository of the checkout's files, as they are now, in a folder
// of its own.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	const root = "../../.."
	list, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), name)
	for file := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(root, file), filepath.Join(dir, file)
		info, err := os.Lstat(from)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, info.Mode().Perm())); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, dir, "init", "-q")
	runGit(t, dir, "add", "-A")
	runGit(t, dir, "commit", "-q", "-m", "all")
	return dir
}

// make release in two folders gives the same bytes, and what it says is there.
func TestTwoFoldersOneRelease(t *testing.T) {
	var sums [2][]byte
	var version, out string
	for i, name := range []string{"here", filepath.Join("some", "where", "else")} {
		dir := copyOf(t, name)
		out = filepath.Join(dir, "build", "release")
		var err error
		if version, err = Make(t.Context(), dir, out, false, t.Logf); err != nil {
			t.Fatal(err)
		}
		if sums[i], err = os.ReadFile(filepath.Join(out, Checksums)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two folders, two releases:\n%s\n%s", sums[0], sums[1])
	}
	for _, name := range []string{
		"sluice.wasm", "sluice.wasm.cdx.json", "sluice-" + version + "-oci.tar", "sluice-" + version + "-oci.digest", "sluice-chart-" + version + ".tgz",
		"sluice-" + version + "-linux-amd64.tar.gz", "sluice-" + version + "-linux-arm64.tar.gz",
		"sluice-" + version + "-darwin-amd64.tar.gz", "sluice-" + version + "-darwin-arm64.tar.gz",
	} {
		if !strings.Contains(string(sums[0]), "  "+name+"\n") {
			t.Errorf("no %s in\n%s", name, sums[0])
		}
	}
	if out, err := command(t, out, "sha256sum", "--check", "--strict", Checksums); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	toolRuns(t, out, version)
	chartNames(t, out, version)
}

func command(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// toolRuns runs the tool of this machine on the plugin of the release.
func toolRuns(t *testing.T, out, version string) {
	t.Helper()
	name := "sluice-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	files := unpack(t, filepath.Join(out, name+".tar.gz"))
	if !slices.ContainsFunc(files, func(f archive.File) bool { return strings.Contains(f.Name, "/licenses/github.com/spf13/cobra/") }) {
		t.Error("the licence of cobra isn't with the tool")
	}
	tool := filepath.Join(t.TempDir(), "sluice")
	for _, f := range files {
		if f.Name == name+"/sluice" {
			if err := os.WriteFile(tool, f.Content, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	sum, _, _ := strings.Cut(says(t, out, Checksums, "  sluice.wasm\n"), " ")
	for _, args := range [][]string{{"version"}, {"version", "sluice.wasm"}} {
		text, err := command(t, out, tool, args...)
		if err != nil || !strings.Contains(text, "sluice "+version) || !strings.Contains(text, sum) {
			t.Errorf("sluice %v: %v, expected version %s and sum %s:\n%s", args, err, version, sum, text)
		}
	}
}

// says is the line of a file that ends in something.
func says(t *testing.T, dir, file, end string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, end) {
			return line
		}
	}
	t.Fatalf("%s has no line that ends in %q", file, end)
	return ""
}

func chartNames(t *testing.T, out, version string) {
	t.Helper()
	for _, f := range unpack(t, filepath.Join(out, "sluice-chart-"+version+".tgz")) {
		if f.Name == "sluice/Chart.yaml" {
			for _, line := range []string{"\nversion: \"" + version + "\"\n", "\nappVersion: \"" + version + "\"\n"} {
				if !strings.Contains(string(f.Content), line) {
					t.Errorf("the chart doesn't say %q:\n%s", line, f.Content)
				}
			}
			return
		}
	}
	t.Error("the chart has no Chart.yaml")
}

func unpack(t *testing.T, file string) []archive.File {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var files []archive.File
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archive.File{Name: h.Name, Content: content, Executable: h.Mode&0o111 != 0})
	}
}

func TestChartsMustNameTheirVersion(t *testing.T) {
	for what, files := range map[string][]archive.File{
		"no Chart.yaml": {{Name: "sluice/values.yaml"}},
		"no version":    {{Name: "sluice/Chart.yaml", Content: []byte("name: sluice\nappVersion: 1\n")}},
		"two":           {{Name: "sluice/Chart.yaml", Content: []byte("version: 1\nversion: 2\nappVersion: 1\n")}},
	} {
		if _, err := Chart(files, "1.2.3"); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
