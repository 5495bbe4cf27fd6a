package lua

import (
	"os"
	"path/filepath"
	"testing"
)

// Every file is there, under its own name and as it is.
func TestEveryFileIsInTheProgram(t *testing.T) {
	found, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(files) {
		t.Errorf("%d files, %d in files.go: go generate ./lua writes it", len(found), len(files))
	}
	for _, f := range files {
		want, err := os.ReadFile(f.name + ".lua")
		if err != nil {
			t.Error(err)
		} else if got, _ := file(f.name); got != string(want) {
			t.Errorf("%s has another text in files.go: go generate ./lua writes it", f.name)
		}
	}
}
