package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a file in a new folder and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sluiceIn is sluice with something on standard input.
func sluiceIn(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out strings.Builder
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetIn(strings.NewReader(in))
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

const wrongLimits = "limits:\n- name: a\n  rate: 5\n  kye: ip\n- {name: a, rate: 5/s}\n"

func TestCheckListsEveryError(t *testing.T) {
	file := write(t, "wrong.yaml", wrongLimits)
	out, err := sluice(t, "check", file)
	if exitCode(err) != exitRefused {
		t.Errorf("%v", err)
	}
	for _, says := range []string{file + ":3:9: error: limits[0].rate: expected a rate", file + ":4:3: error: limits[0].kye: unknown field (did you mean key?)"} {
		if !strings.Contains(out, says) {
			t.Errorf("no %q in\n%s", says, out)
		}
	}
	// The same from standard input.
	if out, err := sluiceIn(t, wrongLimits, "check", "-"); exitCode(err) != exitRefused || !strings.Contains(out, "standard input:3:9: error:") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCheckManyFiles(t *testing.T) {
	out, err := sluice(t, "check", "../../envoy.yaml", "../../testdata/configs/contract.yaml")
	if err != nil || !strings.Contains(out, "filter gateway") || strings.Count(out, "OK") != 2 || !strings.Contains(out, "1 script call a request with at most 3 counters") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCheckWarns(t *testing.T) {
	file := write(t, "doubtful.yaml", "redis: {password: hunter2}\nlimits:\n- {name: a, rate: 0/s}\n")
	out, err := sluice(t, "check", file)
	if err != nil || !strings.Contains(out, file+":3:19: warning: limits[0].rate:") || !strings.Contains(out, ":1:19: warning: redis.password") || strings.Contains(out, "hunter2") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "check", "--strict", file); exitCode(err) != exitFound {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = sluice(t, "check", "--json", file)
	var r struct {
		Warnings int `json:"warnings"`
		Configs  []struct {
			Warnings []struct {
				Line int    `json:"line"`
				Rule string `json:"rule"`
			} `json:"warnings"`
		} `json:"configs"`
	}
	if jsonErr := json.Unmarshal([]byte(out), &r); err != nil || jsonErr != nil || r.Warnings != 2 || r.Configs[0].Warnings[1].Line != 3 {
		t.Errorf("%v %v\n%s", err, jsonErr, out)
	}
}

func TestCheckAgainst(t *testing.T) {
	old := write(t, "old.yaml", "limits:\n- {name: a, key: ip, rate: 5/s}\n- {name: gone, rate: 1/s}\n")
	now := write(t, "new.yaml", "limits:\n- {name: a, key: ip, rate: 5/s, algorithm: token_bucket}\n- {name: b, rate: 1/s}\n")
	out, err := sluice(t, "check", now, "--against", old)
	if err != nil || !strings.Contains(out, "empty a: algorithm sliding_log → token_bucket: starts empty") || !strings.Contains(out, "added b") || !strings.Contains(out, "removed gone") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "check", old, "--against", old); err != nil || !strings.Contains(out, "no limit changes") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every failure is one sentence and the documented exit code.
func TestCheckBadInput(t *testing.T) {
	good := write(t, "good.yaml", "limits: []")
	other := write(t, "other.yaml", "kind: Deployment\nspec: {}")
	wrong := write(t, "wrong.yaml", "limits: 5")
	for line, c := range map[string]struct {
		code int
		says string
	}{
		"check":                                 {exitUsage, "needs at least one file"},
		"check ghost.yaml":                      {exitRefused, "no file ghost.yaml"},
		"check " + t.TempDir():                  {exitRefused, "is a folder"},
		"check " + other:                        {exitRefused, "holds no sluice configuration"},
		"check " + good + " --against " + wrong: {exitRefused, "expected a list"},
		"check " + good + " --against ghost":    {exitRefused, "no file ghost"},
		"check " + good + " " + good + " --against " + good: {exitUsage, "give one FILE"},
		"check --no-such " + good:                           {exitUsage, "--no-such"},
	} {
		out, err := sluice(t, strings.Fields(line)...)
		if exitCode(err) != c.code || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || strings.Contains(out, "goroutine") {
			t.Errorf("sluice %s: %v\n%s", line, err, out)
		}
	}
}

func TestSchemaIsTheGeneratedFile(t *testing.T) {
	out, err := sluice(t, "schema")
	want, readErr := os.ReadFile("../../docs/reference/schema.json")
	if err != nil || readErr != nil || out != string(want) {
		t.Errorf("%v %v: docs/reference/schema.json isn't what schema prints", err, readErr)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, err := sluice(t, "completion", shell); err != nil || !strings.Contains(out, "sluice") {
			t.Errorf("%s: %v", shell, err)
		}
	}
}

// The reference has every command and flag.
func TestReference(t *testing.T) {
	root := newRoot()
	page := string(reference(root))
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && !strings.Contains(page, "## sluice "+c.Name()+"\n") {
			t.Errorf("no section for %s", c.Name())
		}
		if !c.Hidden && c.Name() != "completion" && c.Name() != "help" && c.Name() != "schema" && !strings.Contains(c.Long, "Exit codes") {
			t.Errorf("%s names no exit codes", c.Name())
		}
	}
	for _, code := range []string{"| 0 |", "| 1 |", "| 2 |", "| 3 |", "| 4 |", "| 5 |"} {
		if !strings.Contains(page, code) {
			t.Errorf("exit code %s is missing", code)
		}
	}
}

// Colours go to terminals only: never to a file or a pipe.
func TestNoColoursHere(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if newPrinter(f).colour || newPrinter(&strings.Builder{}).colour {
		t.Error("colours in a file")
	}
	p := &printer{colour: true}
	if p.style(red, "x") == "x" {
		t.Error("no colours at all")
	}
	if got := safe("a\x1b[2Jb\nc"); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}
