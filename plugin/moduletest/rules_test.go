package moduletest

import (
	"strings"
	"testing"

	"sluice/internal/emulator"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func route(name, cluster string) []emulator.Option {
	return []emulator.Option{
		emulator.Property([]byte(name), "route_name"), emulator.Property([]byte(cluster), "cluster_name"),
	}
}

// The first rule that is for a request has the word, else the default.
func TestHigressRules(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, `{
		"_plugin_id_": "sluice.internal",
		"redis": {"link":"host","cluster":"`+service+`","timeout":"2s"}, "gateways": 1, "runtime_overrides": false,
		"limits": [{"name":"rest","key":"header:x-user","rate":"5/min"}],
		"_rules_": [
			{"_match_route_": ["shop/pay"], "_match_service_": ["pay.svc:80"], "gateways": 1, "limits": [{"name":"pay","rate":"1/hour"}]},
			{"_match_route_": ["shop/pay"], "gateways": 1, "limits": [{"name":"pay-other","rate":"2/hour"}]},
			{"_match_domain_": ["*.example.com", "api.*"], "gateways": 1, "limits": [{"name":"domain","rate":"3/hour"}]},
			{"_match_service_": ["free.svc"], "gateways": 1, "limits": [{"name":"service","rate":"4/hour"}]},
			{"_match_route_prefix_": ["beta/"], "_match_consumer_": ["tom"], "gateways": 1, "limits": [{"name":"beta","rate":"0/hour"}]}
		]}`)
	host := func(name string, more ...string) emulator.Headers {
		return append(emulator.Headers{{":method", "GET"}, {":path", "/"}, {":authority", name}}, get("/", more...)[3:]...)
	}
	for _, c := range []struct {
		name string
		h    emulator.Headers
		o    []emulator.Option
		want int // how many pass
	}{
		{"a route and its service", host("a.example.com"), route("shop/pay", "outbound|80||pay.svc"), 1},
		{"a route, another port", host("a.example.com"), route("shop/pay", "outbound|81||pay.svc"), 2},
		{"a domain, with a port", host("a.example.com:8080"), route("shop/other", "outbound|80||free.svc"), 3},
		{"another end of the domain: counted on", host("api.test"), route("", ""), 0},
		{"a service", host("b.test"), route("shop/other", "outbound|80||free.svc"), 4},
		{"a prefix without its consumer", host("b.test", "x-user", "u2"), route("beta/x", ""), 5},
		{"a prefix and its consumer", host("b.test", "x-mse-consumer", "tom"), route("beta/x", ""), 0},
		{"none", host("b.test", "x-user", "u1"), route("other", "outbound|80||other.svc"), 5},
	} {
		got := asks(t, vm, c.want+2, c.h, c.o...)
		if want := strings.TrimSpace(strings.Repeat("passed ", c.want) + "429 429"); got != want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if n := vm.Metric("sluice_panics_total"); n != 0 {
		t.Errorf("%d panics", n)
	}
}

// Each rule's calls end at their deadline, though one timer serves all.
func TestHigressRulesWithAStalledRedis(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, `{"redis": {"link":"host","cluster":"`+service+`","timeout":"30ms"}, "on_error": "deny",
		"limits": [{"name":"rest","key":"header:x-user","rate":"100/min"}],
		"_rules_": [{"_match_route_": ["a"], "on_error": "deny", "limits": [{"name":"a","key":"header:x-user","rate":"100/min"}]}]}`)
	eventually(t, vm, func() bool {
		return ask(t, vm, get("/", "x-user", "0"), route("a", "")...) == "passed" && ask(t, vm, get("/", "x-user", "0")) == "passed"
	})
	if err := redis.Pause(); err != nil {
		t.Fatal(err)
	}
	one, rest := vm.Request(get("/", "x-user", "1"), route("a", "")...), vm.Request(get("/", "x-user", "1"))
	for _, r := range []*emulator.Request{one, rest} {
		settled(t, vm, r)
		if got := status(r); got != "503" {
			t.Errorf("while Redis hangs: %s", got)
		}
		r.Done()
	}
	if err := redis.Resume(); err != nil {
		t.Fatal(err)
	}
}

// A default that says only where Redis is sets no limit.
func TestHigressRulesWithoutADefault(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, `{"redis": {"link":"host","cluster":"`+service+`","timeout":"2s"},
		"_rules_": [{"_match_route_": ["a"], "limits": [{"name":"a","rate":"1/hour"}]}]}`)
	if got := asks(t, vm, 3, get("/"), route("b", "")...); got != "passed passed passed" {
		t.Error(got)
	}
	if got := asks(t, vm, 2, get("/"), route("a", "")...); got != "passed 429" {
		t.Error(got)
	}
	vm.Shutdown()
	if n := vm.RootContexts(); n != 0 {
		t.Errorf("%d configurations live", n)
	}
}

// An error anywhere refuses the whole, by its place.
func TestHigressRulesAreCheckedTogether(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	good := hosted(`,"timeout":"2s"`, `"limits":[{"name":"a","rate":"1/min"}]`)
	vm := startHigress(t, redis.Addr, good)
	const head = `{"redis": {"link":"host","cluster":"` + service + `"}, "_rules_": [`
	for config, says := range map[string]string{
		head + `{"_match_route_": ["a"], "limits": [{"name":"a","rate":"x"}]}]}`: "_rules_[0].limits[0].rate",
		head + `{"limits": [{"name":"a","rate":"1/s"}]}]}`:                       "_match_route_",
		head + `7]}`:               "_rules_[0]: expected an object",
		`{"_rules_": {"a": 1}}`:    "_rules_: expected a list",
		`{"_rules_": [`:            "not valid JSON",
		`[]`:                       "expected an object",
		`{"_plugin_id_": "x"}`:     "limits",
		head + `], "on_error": 7}`: "on_error",
		head + `{"_match_route_": ["a"], "redis": {"link":"host","cluster":"` + service + `","db":1}, "limits": [{"name":"a","rate":"1/s"}]}],
			"limits": [{"name":"b","rate":"1/s"}]}`: "database",
	} {
		from := len(vm.Logs())
		if vm.Reconfigure(config) {
			t.Errorf("accepted: %s", config)
		}
		said := false
		for _, l := range vm.Logs()[from:] {
			said = said || strings.Contains(l.Message, says)
		}
		if !said {
			t.Errorf("%s: nothing says %q: %v", config, says, vm.Logs()[from:])
		}
	}
	if got := asks(t, vm, 2, get("/")); got != "passed 429" {
		t.Errorf("the running configuration is gone: %s", got)
	}
}
