package playground

import (
	"net/http"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestBreakAndMendRedis(t *testing.T) {
	r := stacktest.Redis(t, stack.RedisOptions{})
	crashed := make(chan *stack.Process, 1)
	own := NewOwnRedis(r, crashed)
	defer own.End()
	s := guarded(t)
	s.o.Server = own
	ask := func(do string) (int, string) {
		w := send(s, http.MethodPost, "/api/redis", `{"do":"`+do+`"}`, "Content-Type", "application/json", tokenHeader, s.token)
		return w.Code, w.Body.String()
	}
	for _, step := range []struct {
		do, says string
		code     int
	}{
		{"resume", "isn't paused", 502}, {"start", "runs already", 502},
		{"pause", `"paused"`, 200}, {"pause", "isn't running", 502}, {"resume", `"running"`, 200},
		{"kill", `"stopped"`, 200}, {"kill", "isn't running", 502}, {"pause", "isn't running", 502},
		{"start", `"running"`, 200}, {"pause", `"paused"`, 200}, {"kill", `"stopped"`, 200},
		{"start", `"running"`, 200}, {"explode", "not \\\"explode\\\"", 200},
	} {
		if code, body := ask(step.do); code != step.code || !strings.Contains(body, step.says) {
			t.Errorf("%s: %d %s, expected %d %s", step.do, code, body, step.code, step.says)
		}
	}
	select {
	case p := <-crashed:
		t.Errorf("%s is said to have crashed", p.Name)
	default:
	}
	r.Kill() // behind its back
	if p := <-crashed; p != r.Process() {
		t.Errorf("crashed: %v", p)
	}
	s.o.Server = nil
	if code, body := ask("kill"); code != 200 || !strings.Contains(body, "error") {
		t.Errorf("a foreign Redis: %d %s", code, body)
	}
}
