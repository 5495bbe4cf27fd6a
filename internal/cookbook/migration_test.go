package cookbook

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// migrationBlock is a sluice configuration of docs/migration.md. Those of other
// systems are marked yml or by their own names.
var migrationBlock = regexp.MustCompile("(?ms)^(?:<!-- (\\S+) -->\n)?```yaml\n(.*?)^```$")

// Every sluice configuration of the migration guide does to requests what the file
// named above it says.
func TestMigrationGuide(t *testing.T) {
	root := stacktest.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	module := release(t)
	redis := stacktest.Redis(t, stack.RedisOptions{})
	tested := map[string]bool{}
	for _, block := range migrationBlock.FindAllStringSubmatch(string(page), -1) {
		file, text := block[1], block[2]
		if file == "" {
			t.Errorf("no file tests this configuration:\n%s", text)
			continue
		}
		tested[file] = true
		t.Run(filepath.Base(file), func(t *testing.T) {
			steps, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			r := Recipe{Name: file, Text: text}
			if err := r.Test.read(steps); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			play(t, module, redis, &r)
		})
	}
	if len(tested) < 5 {
		t.Errorf("the guide has %d configurations", len(tested))
	}
	files, err := filepath.Glob(filepath.Join(root, "testdata", "migration", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := "testdata/migration/" + filepath.Base(f); !tested[name] {
			t.Errorf("%s tests nothing of the guide", name)
		}
	}
	if n := strings.Count(string(page), "```yaml"); n != len(tested) {
		t.Errorf("%d configurations in the guide, and %d are tested", n, len(tested))
	}
}
