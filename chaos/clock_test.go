package chaos

import (
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// startClock starts a Redis whose clock is off, as stacktest.Clocked has it.
func startClock(t *testing.T, o stack.RedisOptions, clock string) *stack.Redis {
	t.Helper()
	o.Dir = t.ArtifactDir()
	o.Binary = stacktest.Clocked(t, stacktest.RedisBinary(t), clock)
	r, err := stack.StartRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// setClock changes what a clock's file says.
func setClock(t *testing.T, file, distance string) {
	t.Helper()
	stacktest.SetClock(t, file, distance)
}
