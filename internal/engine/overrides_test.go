package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"sluice/internal/call"
	"sluice/internal/engine"
	"sluice/internal/source"
)

const overridable = `{"limits":[
	{"name":"user","key":"header:x-user","rate":"20/min","overrides":[{"when":{"header:x-user":"p"},"rate":"30/min"}]},
	{"name":"all","rate":["5/s","100/hour"]}]}`

// overridden is an engine with a list of overrides that hold for long.
func overridden(t testing.TB, e *engine.Engine, lines ...string) *engine.Engine {
	t.Helper()
	for i, l := range lines {
		field, spec, _ := strings.Cut(l, " ")
		lines[i] = field + " 4000000000000 " + spec
	}
	x, _ := e.Overridden(strings.Join(lines, "\n"), 1, e.NumRates(), func(field string, err error) { t.Errorf("%s: %v", field, err) })
	return x
}

// Whatever overrides there are, a request that they are about allocates no more
// than one that they aren't about.
func TestOverridesAllocateNothing(t *testing.T) {
	base := build(t, overridable)
	for _, list := range [][]string{
		nil,
		{"user rate 9/min"}, {"user|u rate 9/min 90/hour"}, {"user|x block"}, {"user|u shadow", "all-1h rate 7/hour"},
		{"all pool 5", "user|u unlimited"}, {"user block"},
	} {
		e := overridden(t, base, list...)
		var p engine.Plan
		var v source.View
		var cmd []byte
		var asked call.Request
		r := get("/", "x-user", "u")
		plan := func() {
			v.Reset(r, &e.Policy().Source)
			e.Plan(&v, &p)
			if p.Block == nil {
				e.Ask(&asked, &p, nil, 1)
				cmd = asked.AppendCall(cmd[:0], false)
			}
		}
		plan()
		if n := testing.AllocsPerRun(200, plan); n != 0 {
			t.Errorf("%q: %v allocations", list, n)
		}
	}
}

// Without overrides an engine stays itself, and with them it leaves the one that
// it was made of alone: calls that are out go on with that.
func TestOverriddenEnginesAreCopies(t *testing.T) {
	base := build(t, overridable)
	if same := overridden(t, base); same != base {
		t.Error("an empty list makes another engine")
	}
	x := overridden(t, base, "all pool 5", "user rate 1/min")
	if n, next := x.Overrides(); n != 2 || next != 4_000_000_000_000 {
		t.Errorf("%d overrides, the first ends at %d", n, next)
	}
	if n, _ := base.Overrides(); n != 0 || base.Script().SHA == x.Script().SHA {
		t.Error("the engine without overrides has some")
	}
	for i := range 3 { // numbers of rates never come again
		var seen []string
		_, next := base.Overridden("user 4000000000000 rate "+strconv.Itoa(i+1)+"/min", 1, 100*(i+1), func(string, error) { seen = append(seen, "bad") })
		if next != 100*(i+1)+1 || seen != nil {
			t.Errorf("next ID %d, %v", next, seen)
		}
	}
}

// The script call is the configuration's for who has no override, to the byte.
func TestOthersAskAsBefore(t *testing.T) {
	base := build(t, overridable)
	x := overridden(t, base, "user|u rate 9/min", "user|w block")
	ask := func(e *engine.Engine, user string) string {
		var p engine.Plan
		var v source.View
		v.Reset(get("/", "x-user", user), &e.Policy().Source)
		e.Plan(&v, &p)
		return string(e.AppendCommand(nil, &p, []byte("id"), 1, false))
	}
	for _, user := range []string{"v", "p", ""} {
		if a, b := ask(base, user), ask(x, user); a != b {
			t.Errorf("%q asks %q, and %q with overrides of others", user, a, b)
		}
	}
	if ask(base, "u") == ask(x, "u") {
		t.Error("the one with an override asks as before")
	}
}
