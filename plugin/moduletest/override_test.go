package moduletest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/operate"
	"sluice/internal/override"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// The compiled module follows what an operator sets in a real Redis, there and
// back.
func TestOverridesByARealRedis(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	c := redis.Client()
	defer c.Close()
	op := &operate.Operator{Redis: c, Prefix: "rl"}
	vm := start(t, release(t), redis, `{"redis":{"timeout":"2s"},"limits":[{"name":"a","key":"header:x-user","rate":"3/min"}]}`)
	ask := func() string {
		r := vm.Request(get("/", "x-user", "u1"))
		settled(t, vm, r)
		defer r.Done()
		return status(r) + " " + string(r.FilterState("sluice.mode"))
	}
	until := func(want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
			if ask() == want {
				return
			}
			vm.PumpUntil(100*time.Millisecond, func() bool { return false })
		}
		t.Fatalf("never %q, but %q", want, ask())
	}
	target := override.Target{Name: "a", Keyed: true, Values: "u1"}
	set := func(s override.Spec) {
		t.Helper()
		if _, _, _, err := op.Set(context.Background(), target, s, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(); got != "passed redis" {
		t.Fatalf("at first: %s", got)
	}
	set(override.Spec{Kind: override.Block})
	until("429 override")
	set(override.Spec{Kind: override.Pool, N: 2})
	until("passed degraded")
	until("429 degraded_exhausted")
	if n := vm.Metric("sluice_overrides"); n != 1 {
		t.Errorf("sluice_overrides is %d", n)
	}
	if _, err := op.Unset(context.Background(), target); err != nil {
		t.Fatal(err)
	}
	until("passed redis")
	if n := vm.Metric("sluice_panics_total"); n != 0 {
		t.Errorf("%d panics", n)
	}
	if n := c.Exists(context.Background(), fmt.Sprintf("rl:{a|%s}:log1", "u1")).Val(); n != 1 {
		t.Error("the limit's own counter is gone")
	}
}
