package moduletest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/emulator"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// service is a cluster's name as Higress has them.
const service = "outbound|6379||redis.static"

// higress is the module as it is shipped for Higress.
func higress(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(stacktest.HigressModule(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hosted is a configuration over the proxy's own Redis calls; redis has more fields.
func hosted(redis, rest string) string {
	return `{"redis":{"link":"host","cluster":"` + service + `"` + redis + `},"runtime_overrides":false,"gateways":1,` + rest + `}`
}

// startHigress runs the module in a proxy of Higress's with one Redis.
func startHigress(t testing.TB, addr, config string, edit ...func(*emulator.Config)) *emulator.VM {
	t.Helper()
	c := emulator.Config{Plugin: config, RealTime: true, Redis: map[string]string{service: addr}}
	for _, e := range edit {
		e(&c)
	}
	return emulator.Start(t, higress(t), c)
}

// ask is one request's status.
func ask(t testing.TB, vm *emulator.VM, h emulator.Headers, o ...emulator.Option) string {
	t.Helper()
	r := vm.Request(h, o...)
	settled(t, vm, r)
	defer r.Done()
	return status(r)
}

func asks(t testing.TB, vm *emulator.VM, n int, h emulator.Headers, o ...emulator.Option) string {
	t.Helper()
	var got []string
	for range n {
		got = append(got, ask(t, vm, h, o...))
	}
	return strings.Join(got, " ")
}

// What a proxy refuses to load decides which artifact is whose.
func TestOnlyHigresssModuleImportsItsCalls(t *testing.T) {
	count := func(wasm []byte) int {
		imports, err := emulator.Imports(wasm)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, i := range imports {
			if strings.HasPrefix(i.Name, "proxy_redis_") {
				n++
			}
		}
		return n
	}
	if n := count(release(t)); n != 0 {
		t.Errorf("the stock module has %d Redis imports: no stock Envoy loads it", n)
	}
	if n := count(higress(t)); n != 2 {
		t.Errorf("Higress's module has %d Redis imports", n)
	}
	if _, err := emulator.Load(higress(t)); err == nil || !strings.Contains(err.Error(), "proxy_redis_call") {
		t.Errorf("a stock Envoy loads Higress's module: %v", err)
	}
	m, err := emulator.Load(release(t))
	if err != nil {
		t.Fatal(err)
	}
	vm, err := m.Start(emulator.Config{Plugin: hosted("", `"limits":[{"name":"a","rate":"1/s"}]`)})
	if err == nil {
		t.Error("the stock module takes link: host")
	}
	said := false
	for _, l := range vm.Logs() {
		said = said || strings.Contains(l.Message, "sluice-higress.wasm")
	}
	if !said {
		t.Errorf("it doesn't say which module does: %v", vm.Logs())
	}
	vm.Close()
}

func TestHigressFiveOfSeven(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, hosted(`,"timeout":"2s"`, `"limits":[{"name":"a","key":"header:x-user","rate":"5/min"}]`))
	if got := asks(t, vm, 7, get("/", "x-user", "u1")); got != "passed passed passed passed passed 429 429" {
		t.Error(got)
	}
	if n := vm.Metric("sluice_script_loads_total"); n != 1 {
		t.Errorf("the script was sent %d times", n)
	}
	c := redis.Client()
	defer c.Close()
	if err := c.ScriptFlush(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := asks(t, vm, 6, get("/", "x-user", "u2")); got != "passed passed passed passed passed 429" {
		t.Errorf("after SCRIPT FLUSH: %s", got)
	}
	if n := vm.Metric("sluice_script_loads_total"); n != 2 {
		t.Errorf("after SCRIPT FLUSH the script was sent %d times in all", n)
	}
	if n := vm.RedisConnections(service); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Two workers, many requests at once: exactly as many pass as may.
func TestHigressExactlyNOfMore(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, hosted(`,"timeout":"10s"`, `"limits":[{"name":"a","key":"header:x-user","rate":"100/hour"}]`))
	other := vm.StartWorker()
	workers := []*emulator.VM{vm, other}
	var sent []*emulator.Request
	for i := range 110 {
		sent = append(sent, workers[i%2].Request(get("/", "x-user", "u1")))
	}
	passed, rejected := 0, 0
	for i, r := range sent {
		settled(t, workers[i%2], r)
		switch status(r) {
		case "passed":
			passed++
		case "429":
			rejected++
		}
		r.Done()
	}
	if passed != 100 || rejected != 10 {
		t.Errorf("%d passed, %d were rejected", passed, rejected)
	}
}

// The proxy forgets the password when the cluster is sent anew. The request that
// meets that is decided all the same, and charged once.
func TestHigressForgetsThePassword(t *testing.T) {
	for _, reconnects := range []bool{false, true} {
		t.Run(fmt.Sprintf("reconnects=%v", reconnects), func(t *testing.T) {
			redis := stacktest.Redis(t, stack.RedisOptions{Password: "secret"})
			vm := startHigress(t, redis.Addr,
				hosted(`,"timeout":"2s","password_env":"PW"`, `"on_error":"deny","limits":[{"name":"a","key":"header:x-user","rate":"5/min"}]`),
				func(c *emulator.Config) { c.Env, c.RedisReconnects = map[string]string{"PW": "secret"}, reconnects })
			if got := asks(t, vm, 2, get("/", "x-user", "u1")); got != "passed passed" {
				t.Fatal(got)
			}
			vm.UpdateRedisCluster(service)
			var sent []*emulator.Request
			for range 4 {
				sent = append(sent, vm.Request(get("/", "x-user", "u1")))
			}
			var got []string
			for _, r := range sent {
				settled(t, vm, r)
				got = append(got, status(r))
				r.Done()
			}
			slices.Sort(got)
			if s := strings.Join(got, " "); s != "429 passed passed passed" {
				t.Errorf("after the update: %s", s)
			}
			for _, l := range vm.Logs() {
				if strings.Contains(l.Message, "secret") {
					t.Errorf("logged: %s", l.Message)
				}
			}
		})
	}
}

// A wrong password: the proxy swallows Redis's refusal, so each command tells of it.
func TestHigressWrongPassword(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "secret"})
	vm := startHigress(t, redis.Addr,
		hosted(`,"timeout":"2s","password":"hunter2"`, `"on_error":"deny","limits":[{"name":"a","rate":"5/min"}]`))
	if got := asks(t, vm, 2, get("/")); got != "503 503" {
		t.Error(got)
	}
	if n := vm.Metric("kind=.=auth;.;sluice_redis_errors_total"); n != 2 {
		t.Errorf("%d errors of kind auth", n)
	}
	for _, l := range vm.Logs() {
		if strings.Contains(l.Message, "hunter2") {
			t.Errorf("logged: %s", l.Message)
		}
	}
}

// The database is a parameter of the cluster's name.
func TestHigressDatabase(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, hosted(`,"timeout":"2s","db":3`, `"limits":[{"name":"a","rate":"1/min"}]`))
	if got := asks(t, vm, 2, get("/")); got != "passed 429" {
		t.Error(got)
	}
	c := redis.Client()
	defer c.Close()
	info, err := c.Info(context.Background(), "keyspace").Result()
	if err != nil || !strings.Contains(info, "db3:") || strings.Contains(info, "db0:") {
		t.Errorf("keys are in %q (%v)", info, err)
	}
}

// Redis hangs: all that waits is answered when the plugin's own timeout passes, and
// later the proxy gives the connection up.
func TestHigressStalledRedis(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, hosted(`,"timeout":"20ms"`, `"on_error":"deny","limits":[{"name":"a","key":"header:x-user","rate":"100/min"}]`))
	eventually(t, vm, func() bool { return ask(t, vm, get("/", "x-user", "first")) == "passed" })
	if err := redis.Pause(); err != nil {
		t.Fatal(err)
	}
	var sent []*emulator.Request
	for i := range 10 {
		sent = append(sent, vm.Request(get("/", "x-user", fmt.Sprint(i))))
	}
	for _, r := range sent {
		settled(t, vm, r)
		if got := status(r); got != "503" {
			t.Errorf("while Redis hangs: %s", got)
		}
		r.Done()
	}
	before := vm.RedisConnections(service)
	if err := redis.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, vm, func() bool { return ask(t, vm, get("/", "x-user", "later")) == "passed" })
	if n := vm.RedisConnections(service); n > before+1 {
		t.Errorf("%d connections, %d before", n, before)
	}
}

// A connection that ends takes all that waits on it along; what comes after finds a
// new one.
func TestHigressRedisRestarts(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	vm := startHigress(t, redis.Addr, hosted(`,"timeout":"500ms"`, `"on_error":"deny","limits":[{"name":"a","key":"header:x-user","rate":"100/min"}]`))
	eventually(t, vm, func() bool { return ask(t, vm, get("/", "x-user", "first")) == "passed" })
	if err := redis.Pause(); err != nil {
		t.Fatal(err)
	}
	var sent []*emulator.Request
	for i := range 5 {
		sent = append(sent, vm.Request(get("/", "x-user", fmt.Sprint(i))))
	}
	redis.Kill()
	for _, r := range sent {
		settled(t, vm, r)
		if got := status(r); got != "503" {
			t.Errorf("with Redis dead: %s", got)
		}
		r.Done()
	}
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, vm, func() bool { return ask(t, vm, get("/", "x-user", "later")) == "passed" })
	if vm.Metric("sluice_pipe_reconnects_total") == 0 {
		t.Error("no reconnect was counted")
	}
}

// The usual mistake: a name that no service has.
func TestHigressUnknownService(t *testing.T) {
	for name, redis := range map[string]map[string]string{
		"knows no such cluster": {"other": "x"},
		"has no host":           {service: ""},
	} {
		vm := startHigress(t, "", hosted("", `"on_error":"deny","limits":[{"name":"a","rate":"1/min"}]`),
			func(c *emulator.Config) { c.Redis = redis })
		if got := ask(t, vm, get("/")); got != "503" {
			t.Errorf("%s: %s", name, got)
		}
		said := false
		for _, l := range vm.Logs() {
			said = said || strings.Contains(l.Message, service) && strings.Contains(l.Message, name)
		}
		if !said {
			t.Errorf("nothing says %q and the name: %v", name, vm.Logs())
		}
	}
}

// Callers that left, and a configuration that is gone, hear of no reply.
func TestHigressRepliesToNobody(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	config := hosted(`,"timeout":"2s"`, `"limits":[{"name":"a","rate":"100/min"}]`)
	vm := startHigress(t, redis.Addr, config)
	for range 5 {
		vm.Request(get("/")).Cancel()
	}
	if !vm.Reconfigure(config) {
		t.Fatal("the configuration is refused")
	}
	if got := ask(t, vm, get("/")); got != "passed" {
		t.Error(got)
	}
	if n := vm.RootContexts(); n != 1 {
		t.Errorf("%d configurations live", n)
	}
	if n := vm.Metric("sluice_panics_total"); n != 0 {
		t.Errorf("%d panics", n)
	}
}

func eventually(t testing.TB, vm *emulator.VM, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if cond() {
			return
		}
		vm.PumpUntil(50*time.Millisecond, func() bool { return false })
	}
	t.Fatal("it never came to that")
}
