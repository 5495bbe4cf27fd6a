package stack

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestServiceStartsAndEnds(t *testing.T) {
	asked := 0
	p, err := StartService(ServiceOptions{
		Name: "sleeper", Binary: "/bin/sh", Args: []string{"-c", `echo "$WORD"; exec sleep 60`},
		Env: []string{"WORD=hello"}, Dir: t.TempDir(),
		Ready: func() error {
			if asked++; asked < 3 {
				return errors.New("not yet")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Ended() || asked != 3 {
		t.Errorf("ended %v, asked %d times", p.Ended(), asked)
	}
	p.Stop()
	if !p.Ended() {
		t.Error("it still runs")
	}
	if tail := Tail(p.Log, 5); !strings.Contains(tail, "hello") {
		t.Errorf("its log: %q", tail)
	}
}

func TestServiceThatEndsIsAnError(t *testing.T) {
	start := time.Now()
	_, err := StartService(ServiceOptions{
		Name: "broken", Binary: "/bin/sh", Args: []string{"-c", "echo no limits here; exit 3"}, Dir: t.TempDir(),
		Ready: func() error { return errors.New("never") },
	})
	var ended *EndedError
	if !errors.As(err, &ended) || !strings.Contains(ended.Tail, "no limits here") {
		t.Errorf("the error is %v", err)
	}
	if waited := time.Since(start); waited > serviceReady {
		t.Errorf("noticed after %v", waited)
	}
}

// What a variable names has to be there; nothing else is looked for then.
func TestToolsOfBenchmarksByVariable(t *testing.T) {
	for variable, find := range map[string]func() (string, error){
		"WRK":       func() (string, error) { return FindWrk(t.Context(), t.Logf) },
		"RATELIMIT": func() (string, error) { return FindRateLimit(t.Context(), t.Logf) },
	} {
		t.Setenv(variable, "/nowhere/"+variable)
		if _, err := find(); !IsMissing(err) || !strings.Contains(err.Error(), "$"+variable) {
			t.Errorf("%s: the error is %v", variable, err)
		}
		t.Setenv(variable, "/bin/sh")
		if path, err := find(); err != nil || path != "/bin/sh" {
			t.Errorf("%s: found %q, %v", variable, path, err)
		}
	}
}
