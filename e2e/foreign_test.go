package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// An Envoy configuration that was not made from envoy.yaml, with other names,
// other filters around and Redis behind Envoy's own Redis proxy: two such
// gateways admit exactly the limit, and never more in any window.
func TestForeignConfiguration(t *testing.T) {
	text, err := os.ReadFile("testdata/foreign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	redis := stacktest.Redis(t, stack.RedisOptions{})
	upstream := stacktest.Upstream(t)
	start := func(name string) *stack.Envoy {
		config, err := envoyconfig.Parse([]byte(strings.ReplaceAll(string(text), "MODULE", stacktest.Module(t))))
		if err != nil {
			t.Fatal(err)
		}
		config.Endpoint("app", upstream.Addr)
		config.Endpoint("store", redis.Addr)
		e, err := stacktest.Envoy(t, stack.EnvoyOptions{Name: name, Config: config, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	one, two := start("envoy-0"), start("envoy-1")
	urls := []string{"http://" + one.Listener("edge"), "http://" + two.Listener("edge")}

	answers := times(305, 30, func(i int) answer { return get(urls[i%2]+"/total/x", "k") })
	mustBeAnswered(t, answers, hang, 200, 429)
	if got := statuses(answers); got[200] != 300 {
		t.Errorf("answers by status: %v", got)
	}

	answers = during(after(3*time.Second), 16, time.Millisecond, func(i int) answer { return get(urls[i%2]+"/window/x", "k") })
	mustBeAnswered(t, answers, hang, 200, 429)
	checkWindow(t, answers, time.Second, 40)

	get(urls[0]+"/free", "k").must(t, 200)
}
