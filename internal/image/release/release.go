package release

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sluice/internal/image"
	"sluice/internal/image/archive"
	"sluice/internal/image/assemble"
	"sluice/internal/image/bill"
	"sluice/internal/wasmfile"
)

// platforms are those that the tool is built for, GOOS and GOARCH.
var platforms = [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// Checksums names the file with the SHA-256 of all others.
const Checksums = "SHA256SUMS"

// maker makes one release.
type maker struct {
	ctx     context.Context
	root    string // absolute
	out     string // where it goes
	version string
	say     func(format string, args ...any)
	text    []byte // the project's licence
	sum     string // of the plugin, hex
}

// Make makes a release of the checkout at root in the folder out, whose content it
// replaces, and returns its version.
func Make(ctx context.Context, root, out string, snapshot bool, say func(string, ...any)) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	version, err := Version(ctx, root, snapshot)
	if err != nil {
		return "", err
	}
	m := &maker{ctx: ctx, root: root, out: out, version: version, say: say}
	if m.text, err = os.ReadFile(filepath.Join(root, "LICENSE")); err != nil {
		return "", err
	}
	if err := os.RemoveAll(out); err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{{"the plugin and its image", m.plugin}, {"the tool", m.tools}, {"the Helm chart", m.chart}, {"checksums", m.checksums}} {
		say("%s", step.what)
		if err := step.do(); err != nil {
			return "", fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return version, nil
}

func (m *maker) plugin() error {
	const built = "build/sluice.wasm"
	if err := m.command(nil, "make", "--no-print-directory", built, "VERSION="+m.version); err != nil {
		return err
	}
	c, err := assemble.Plugin(m.ctx, m.root, "sluice", filepath.Join(m.root, built))
	if err != nil {
		return err
	}
	if c.Version != m.version {
		return fmt.Errorf("the plugin says it is %s, not %s", c.Version, m.version)
	}
	info, err := wasmfile.Describe(c.Module)
	if err != nil {
		return err
	}
	m.sum = info.SHA256
	img, err := image.Build(c)
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "sluice-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	layout := filepath.Join(tmp, "layout")
	if err := image.Write(layout, img, m.version); err != nil {
		return err
	}
	files, err := folder(layout, "")
	if err != nil {
		return err
	}
	tar, err := archive.Tar(files)
	if err != nil {
		return err
	}
	return m.write(map[string][]byte{
		"sluice.wasm":                         c.Module,
		"sluice.wasm.cdx.json":                c.Materials,
		"sluice-" + m.version + "-oci.tar":    tar,
		"sluice-" + m.version + "-oci.digest": []byte(digest.String() + "\n"),
	})
}

func (m *maker) tools() error {
	tmp, err := os.MkdirTemp("", "sluice-tool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, p := range platforms {
		binary := filepath.Join(tmp, p[0]+"-"+p[1])
		err := m.command([]string{"GOOS=" + p[0], "GOARCH=" + p[1], "CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -X sluice/internal/version.Version="+m.version+" -X main.moduleSHA256="+m.sum, "-o", binary, "./cmd/sluice")
		if err != nil {
			return err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		modules, err := bill.Modules(m.ctx, bill.Program{Root: m.root, Package: "./cmd/sluice", OS: p[0], Arch: p[1]})
		if err != nil {
			return err
		}
		name := "sluice-" + m.version + "-" + p[0] + "-" + p[1]
		packed, err := archive.TarGzip(append([]archive.File{
			{Name: name + "/sluice", Content: content, Executable: true},
			{Name: name + "/LICENSE", Content: m.text},
		}, image.Papers(name+"/", modules)...))
		if err != nil {
			return err
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		materials, err := bill.Materials(bill.Subject{Name: "sluice", Version: m.version, SHA256: sum, Licence: assemble.Licence}, modules)
		if err != nil {
			return err
		}
		if err := m.write(map[string][]byte{name + ".tar.gz": packed, name + ".cdx.json": materials}); err != nil {
			return err
		}
	}
	return nil
}

// chart packs the Helm chart with this version in it.
func (m *maker) chart() error {
	files, err := folder(filepath.Join(m.root, "deploy", "helm", "sluice"), "sluice/")
	if err != nil {
		return err
	}
	packed, err := Chart(files, m.version)
	if err != nil {
		return err
	}
	return m.write(map[string][]byte{"sluice-chart-" + m.version + ".tgz": packed})
}

// checksums writes what sha256sum -c reads.
func (m *maker) checksums() error {
	entries, err := os.ReadDir(m.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(m.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return m.write(map[string][]byte{Checksums: []byte(b.String())})
}

func (m *maker) write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(m.out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// command runs one in the checkout.
func (m *maker) command(env []string, args ...string) error {
	cmd := exec.CommandContext(m.ctx, args[0], args[1:]...)
	cmd.Dir = m.root
	// make passes its own flags on, and GOFLAGS would change what is built.
	cmd.Env = append(os.Environ(), append([]string{"MAKEFLAGS=", "MAKELEVEL=", "GOFLAGS="}, env...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// folder reads all files below a folder, sorted, their names after prefix.
func folder(dir, prefix string) ([]archive.File, error) {
	var files []archive.File
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, archive.File{Name: prefix + filepath.ToSlash(rel), Content: content})
		return nil
	})
	slices.SortFunc(files, func(a, b archive.File) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}
