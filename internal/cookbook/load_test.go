package cookbook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recipe that says less than it seems to is an error.
func TestLoadRefuses(t *testing.T) {
	const (
		config = "# Title\n#\n# Why.\nlimits: []\n"
		test   = "topic: What the caller sees\nsteps:\n"
		step   = test + "- {request: GET /, expect: passed}\n"
	)
	for _, c := range []struct{ name, config, test, want string }{
		{"no comment", "limits: []\n", step, "begins with no comment"},
		{"no why", "# Title\nlimits: []\n", step, "begins with no comment"},
		{"no configuration", "# Title\n#\n# Why.\n", step, "begins with no comment"},
		{"no steps", config, test, "no steps"},
		{"unknown topic", config, "topic: Fun\nsteps: []\n", `topic "Fun"`},
		{"unknown system", config, "like: {fun: x}\n" + step, `"fun"`},
		{"unknown field of a test", config, "fun: 1\n" + step, "fun"},
		{"unknown field of a step", config, test + "- {request: GET /, fun: 1, expect: passed}\n", "fun"},
		{"unknown field of an answer", config, test + "- {request: GET /, answer: {fun: 1}, expect: passed}\n", "fun"},
		{"unknown field of what is expected", config, test + "- {request: GET /, expect: {result: passed, fun: 1}}\n", "fun"},
		{"nothing expected", config, test + "- {request: GET /}\n", `result ""`},
		{"an unknown result", config, test + "- {request: GET /, expect: fine}\n", `result "fine"`},
		{"no kind of step", config, test + "- {times: 3}\n", "a step is one of"},
		{"two kinds of step", config, test + "- {wait: 1s, request: GET /, expect: passed}\n", "a step is one of"},
		{"several delays", config, test + "- {request: GET /, times: 2, expect: {result: passed, delay: 1s}}\n", "one request at a time"},
		{"held by no name", config, test + "- {request: GET /, together: true, expect: held}\n", "hold and together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "a.yaml", c.config)
			write(t, dir, "a.test.yaml", c.test)
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	t.Run("no test", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "a.yaml", config)
		if _, err := Load(dir); err == nil {
			t.Error("no error")
		}
	})
	t.Run("no configuration", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "a.test.yaml", step)
		if _, err := Load(dir); err == nil {
			t.Error("no error")
		}
	})
	t.Run("one title twice", func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"a", "b"} {
			write(t, dir, name+".yaml", config)
			write(t, dir, name+".test.yaml", step)
		}
		if _, err := Load(dir); err == nil {
			t.Error("no error")
		}
	})
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"nginx: limit_req with burst": "nginx-limit_req-with-burst",
		"rate_limit:{route}:{tenant}": "rate_limitroutetenant",
		"100 a second, 10,000 a day":  "100-a-second-10000-a-day",
		"Callers' own words":          "callers-own-words",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("%s: %s, want %s", heading, got, want)
		}
	}
}
