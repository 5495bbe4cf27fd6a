package doctor_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/doctor"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

func toJSON(t *testing.T, text string) string {
	t.Helper()
	doc, problem := yamlconfig.Convert([]byte(text))
	if problem != nil {
		t.Fatal(problem)
	}
	return string(doc.JSON)
}

// get sends requests until the gateway answers, and some more.
func get(t *testing.T, e *stack.Envoy, n int) {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second}
	for range n {
		resp, err := client.Get(e.URL() + "/x")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}

const gatewayLimits = "redis: {timeout: 2s}\nlimits: [{name: a, key: ip, rate: 50/min}]"

func TestGateways(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	upstream := stacktest.Upstream(t)
	one := stacktest.Gateway{Name: "one", Plugin: toJSON(t, gatewayLimits), Redis: server.Addr, Upstream: upstream.Addr}.Start(t)
	// The same, written otherwise; what a file says too.
	two := stacktest.Gateway{Name: "two", Plugin: `{"limits": [{"rate": "50/min", "key": "ip", "name": "a"}], "redis": {"timeout": "2s"}}`, Redis: server.Addr, Upstream: upstream.Addr}.Start(t)
	get(t, one, 3)
	get(t, two, 3)
	rdb := server.Client()
	defer rdb.Close()
	p := parse(t, gatewayLimits)
	patient := func(gateways ...string) *doctor.Patient {
		return &doctor.Patient{Gateways: gateways, Policy: p, PolicyAt: "limits.yaml", PolicyRaw: []byte(toJSON(t, gatewayLimits))}
	}
	all := examine(t, patient("http://"+string(one.Admin), string(two.Admin)))
	for _, f := range all {
		if f.Severity != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	has(t, all, doctor.OK, "plugin", "1 limit")
	has(t, all, doctor.OK, "pipe", "open")
	has(t, all, doctor.OK, "configurations", "all run configuration")

	// Both beat in Redis: doctor counts them.
	with := patient(string(one.Admin), string(two.Admin))
	with.Redis = rdb
	eventually(t, func() bool { return rdb.ZCard(t.Context(), "rl:{gateways}:beat1").Val() == 2 })
	has(t, examine(t, with), doctor.OK, "gateways-alive", "2 gateways")

	three := stacktest.Gateway{
		Name: "three", Plugin: toJSON(t, strings.Replace(gatewayLimits, "50/min", "70/min", 1)), Redis: "127.0.0.1:1", Upstream: upstream.Addr,
		Edit: func(c *envoyconfig.Config) {
			c.Manager(envoyconfig.Gateway, "use_remote_address", false)
			c.Manager(envoyconfig.Gateway, "stream_idle_timeout", "0s")
			c.Top("stats_config", nil)
		},
	}.Start(t)
	get(t, three, 8)
	all = examine(t, patient(string(one.Admin), string(three.Admin), "127.0.0.1:1"))
	f := has(t, all, doctor.Fail, "configurations", "different configurations")
	if !strings.Contains(f.Text, "rate 50/min → 70/min") || !strings.Contains(f.Text, "limits.yaml") {
		t.Errorf("what differs isn't said: %s", f.Text)
	}
	has(t, all, doctor.Fail, "envoy", "doesn't answer")
	has(t, all, doctor.Fail, "client-address", "")
	has(t, all, doctor.Warn, "idle-timeout", "0s")
	has(t, all, doctor.Warn, "metric-labels", "stats_tags")
	has(t, all, doctor.Fail, "pipe", "can't connect")
	has(t, all, doctor.Fail, "decisions", "isn't asked")
	has(t, all, doctor.Warn, "decisions", "calls to Redis failed")

	bare := stacktest.Gateway{Name: "bare", Plugin: toJSON(t, gatewayLimits), Redis: server.Addr, Upstream: upstream.Addr,
		Edit: func(c *envoyconfig.Config) { c.RemovePlugin() }}.Start(t)
	has(t, examine(t, patient(string(bare.Admin))), doctor.Fail, "plugin", "nothing is limited")
}

func TestFingerprint(t *testing.T) {
	a := doctor.Fingerprint([]byte(`{"a": 1, "b": [1.0, 1e3]}`))
	for text, same := range map[string]bool{`{"b":[1,1000],"a":1.0}`: true, `{"a":2,"b":[1,1000]}`: false, "no JSON": false} {
		if got := doctor.Fingerprint([]byte(text)) == a; got != same {
			t.Errorf("%s: %v", text, got)
		}
	}
}
