package cookbook

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

func recipes(t *testing.T) []Recipe {
	t.Helper()
	all, err := Load(filepath.Join(stacktest.Root(t), Dir))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every recipe does what its test file says.
func TestRecipes(t *testing.T) {
	module := release(t)
	redis := stacktest.Redis(t, stack.RedisOptions{})
	for _, r := range recipes(t) {
		t.Run(r.Name, func(t *testing.T) { play(t, module, redis, &r) })
	}
}

func TestThereAreEnough(t *testing.T) {
	if n := len(recipes(t)); n < 32 {
		t.Errorf("%d recipes", n)
	}
}

func TestPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(stacktest.Root(t), Page))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != string(Render(recipes(t))) {
		t.Errorf("%s is out of date: go generate ./internal/cookbook", Page)
	}
}
