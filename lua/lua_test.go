package lua_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/limit"
	"sluice/lua"
)

func TestComposeKeepsOrderAndDropsDuplicates(t *testing.T) {
	s := lua.Compose("token_bucket", "sliding_log", "token_bucket", "leaky_bucket")
	for name, want := range map[string]int{"token_bucket": 1, "sliding_log": 2, "leaky_bucket": 3, "calendar": 0} {
		if got := s.Index(name); got != want {
			t.Errorf("Index(%s) = %d, want %d", name, got, want)
		}
	}
	for i, args := range []string{"return {args=4,", "return {args=2,", "return {args=6,"} {
		if branch := strings.Index(s.Source, fmt.Sprintf("if i==%d then", i+1)); branch < 0 || !strings.Contains(s.Source[branch:], args) {
			t.Errorf("no branch for algorithm %d", i+1)
		}
		if !strings.Contains(s.Source, fmt.Sprintf("if g=='%d' then", i+1)) {
			t.Errorf("no short way for algorithm %d", i+1)
		}
	}
	if sum := sha1.Sum([]byte(s.Source)); s.SHA != hex.EncodeToString(sum[:]) {
		t.Errorf("SHA is %s", s.SHA)
	}
	if again := lua.Compose("token_bucket", "sliding_log", "leaky_bucket"); again.SHA != s.SHA {
		t.Error("the same algorithms make another script")
	}
	if other := lua.Compose("sliding_log", "token_bucket", "leaky_bucket"); other.SHA == s.SHA {
		t.Error("another order makes the same script")
	}
}

func TestComposePanicsOnAnUnknownName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	lua.Compose("sliding_logs")
}

func TestEveryAlgorithmHasItsScript(t *testing.T) {
	for _, a := range append(limit.Algorithms(), limit.Penalty, limit.Pool) {
		s := lua.Compose(a.Script)
		if s.Index(a.Script) != 1 {
			t.Errorf("%s: no script", a.Name)
		}
		for _, left := range []string{"$bytes", "$vars", "$num", "@use"} {
			if strings.Contains(s.Source, left) {
				t.Errorf("%s: %s was left in the script", a.Name, left)
			}
		}
	}
}

// What Compose strips must be comments, and nothing else: no string holds "--",
// no text in the script isn't ASCII, and no line is left that could be joined to
// the one before it.
func TestComposeStripsOnlyComments(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			code, _, _ := strings.Cut(line, "--")
			if n := strings.Count(code, "'"); n%2 != 0 {
				t.Errorf("%s:%d: a comment begins in a string: %s", f, i+1, line)
			}
			if strings.HasPrefix(strings.TrimSpace(code), "(") {
				t.Errorf("%s:%d: could be a call of the line before: %s", f, i+1, line)
			}
			if strings.Contains(line, "[[") || strings.Contains(line, "--[") {
				t.Errorf("%s:%d: long strings and comments aren't understood: %s", f, i+1, line)
			}
		}
	}
	var names []string
	for _, a := range limit.Algorithms() {
		names = append(names, a.Script)
	}
	s := lua.Compose(names...)
	if strings.Contains(s.Source, "--") {
		t.Error("a comment was left")
	}
	for _, r := range s.Source {
		if r > 126 {
			t.Fatalf("%q in the script", r)
		}
	}
}

// Scripts may only use what Redis 5 to 8, Valkey and the embedded stand-in have.
func TestScriptsUseOnlyCommonFunctions(t *testing.T) {
	var names []string
	for _, a := range append(limit.Algorithms(), limit.Penalty, limit.Pool) {
		names = append(names, a.Script)
	}
	source := lua.Compose(names...).Source
	for _, word := range []string{"struct.", "bit.", "cmsgpack", "cjson", "goto ", "//", "redis.sha1hex", "redis.log", "os.", "redis.pcall", "redis.setresp"} {
		if strings.Contains(source, word) {
			t.Errorf("the scripts use %q", word)
		}
	}
}
