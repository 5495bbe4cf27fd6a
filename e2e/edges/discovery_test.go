package edges

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// watched declares a door whose plugin configuration comes from a file that
// Envoy watches (ECDS).
func watched(name, config string) *door {
	d := newDoor(name, config)
	d.watch = true
	return d
}

// reconfigure hands Envoy another plugin configuration for a watched door. The
// test's end gives the first one back.
func (d *door) reconfigure(t *testing.T, config string) {
	t.Helper()
	first := d.config
	d.config = config
	if _, err := shared.doorConfig(d); err != nil { // which writes the file
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.config = first
		if _, err := shared.doorConfig(d); err != nil {
			t.Error(err)
		}
	})
}

// lateDoor makes a door that Envoy gets by the listener file (LDS), once it is
// opened, until the test's end.
func lateDoor(t *testing.T, config string) *door {
	t.Helper()
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	shared.lates++
	return &door{name: fmt.Sprint("late-", shared.lates), config: config, late: true, addr: stack.Addr(port)}
}

// open adds a late door to the listener file, or changes it there.
func (d *door) open(t *testing.T) {
	t.Helper()
	publish := func() {
		t.Helper()
		if err := shared.publishListeners(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(shared.late, d) {
		shared.late = append(shared.late, d)
		t.Cleanup(func() {
			shared.late = slices.DeleteFunc(shared.late, func(other *door) bool { return other == d })
			publish()
		})
	}
	publish()
}

// Envoy looks at every change in the folders of the files that it watches, so
// its log is in another.
func (g *gateway) watchedFile(name string) string {
	return filepath.Join(g.dir, "watched", name+".yaml")
}
func (g *gateway) listenerFile() string      { return g.watchedFile("listeners") }
func (g *gateway) filterFile(d *door) string { return g.watchedFile(d.name) }

// publishListeners writes the listener file.
func (g *gateway) publishListeners() error {
	resources := []any{}
	for _, d := range g.late {
		own, err := g.doorConfig(d)
		if err != nil {
			return err
		}
		c, err := g.example()
		if err != nil {
			return err
		}
		c.Adopt(d.name, own)
		c.MovePorts(envoyconfig.Ports{0: portOf(d.addr)})
		text, err := c.Discovery(d.name)
		if err != nil {
			return err
		}
		var page struct{ Resources []any }
		if err := yaml.Unmarshal(text, &page); err != nil {
			return err
		}
		resources = append(resources, page.Resources...)
	}
	text, err := yaml.Marshal(m{"resources": resources})
	if err != nil {
		return err
	}
	return replaceFile(g.listenerFile(), text)
}

// replaceFile puts a file where Envoy watches for one: it only notices a file
// that is moved there.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
