package moduletest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/emulator"
	"sluice/internal/wasmcount"
	"sluice/redisproto"
)

var update = flag.Bool("update", false, "store the figures that the guard measures")

// figures are what a turn costs, most often one request: host calls by name, objects
// allocated by the plugin, and instructions that it runs. The last is compared with a
// little room, for the share of a collection of garbage that a request has.
type figures struct {
	HostCalls    map[string]int `json:"host_calls"`
	Mallocs      int64          `json:"mallocs"`
	Instructions int64          `json:"instructions"`
}

// room is what instructions may change by, parts of a thousand.
const room = 20

// counting is the faulty module that counts its instructions.
var counting = sync.OnceValues(func() ([]byte, error) {
	wasm, err := faulty()
	if err != nil {
		return nil, err
	}
	return wasmcount.Total(wasm)
})

// reply is a script's reply for n counters, encoded.
func reply(admitted string, counters int) []byte {
	b := "*" + map[int]string{1: "7", 3: "17"}[counters] + "\r\n:1690000058000000\r\n:" + admitted + "\r\n"
	for range counters {
		b += ":" + admitted + "\r\n:1\r\n:4\r\n:1001\r\n:" + map[string]string{"1": "0", "0": "1001"}[admitted] + "\r\n"
	}
	return []byte(b)
}

// The figures are stored, and change only on purpose: go test -update.
func TestGuard(t *testing.T) {
	const (
		one   = `{"limits":[{"name":"a","match":{"path":"/a"},"key":"header:x-user","rate":"5/s"}]}`
		three = `{"limits":[{"name":"a","key":"header:x-user","rate":"5/s"},{"name":"b","key":"path","rate":"50/s"},{"name":"c","rate":"500/s"}]}`
		own   = `{"limits":[{"name":"a","key":"header:x-user","rate":"5000000/min","algorithm":"token_bucket","scope":"gateway"}]}`
		// Nothing but requests has Redis asked.
		lease = `{"gateways":1,"runtime_overrides":false,"limits":[{"name":"a","key":"header:x-user","rate":"5000/s","hot":{"lease":{"for":"100ms"}}}]}`
	)
	cluster := func(policy string) string { return `{"redis":{"topology":"cluster"},` + policy[1:] }
	kind := func(how string) string {
		return `{"limits":[{"name":"a","match":{"path":"/a"},"key":"header:x-user","rate":"5/s",` + how + `}]}`
	}
	got := map[string]figures{
		"no limit matches":       measure(t, one, single("/b", "")),
		"one limit, admitted":    measure(t, one, single("/a", "1")),
		"one limit, rejected":    measure(t, one, single("/a", "0")),
		"three limits, admitted": measure(t, three, single("/a", "1")),
		"a gateway's own limit":  measure(t, own, single("/a", "")),
		"zset, admitted":         measure(t, kind(`"storage":"zset"`), single("/a", "1")),
		"token_bucket, admitted": measure(t, kind(`"algorithm":"token_bucket"`), single("/a", "1")),
		"fixed_window, admitted": measure(t, kind(`"algorithm":"fixed_window"`), single("/a", "1")),

		"a cluster, one limit, admitted":             measure(t, cluster(one), single("/a", "1")),
		"a cluster, three limits in three calls":     measure(t, cluster(three), single("/a", "1")),
		"eight requests for a hot key, in two calls": measure(t, one, together(8, 2)),
		"a hundred requests in a lease's time":       measure(t, lease, spread(100, time.Millisecond)),
	}
	path := filepath.Join("testdata", "guard.json")
	if *update {
		b, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]figures
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	near := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Instructions" },
		cmp.Comparer(func(a, b int64) bool { return max(a, b)-min(a, b) <= max(a, b)*room/1000 }))
	if d := cmp.Diff(want, got, near); d != "" {
		t.Errorf("a request's cost changed; if on purpose, store it with -update:\n%s", d)
	}
}

// turn is what is measured: requests to a module, and Redis's answers.
type turn func(testing.TB, *emulator.VM)

// begin sends a request to the module. Two at once have different ids, else the
// module takes them for parts of one.
func begin(vm *emulator.VM, path, id string) *emulator.Request {
	return vm.Request(get(path, "x-request-id", id, "x-user", "u1", "user-agent", "curl/8", "accept", "*/*"))
}

// finish has the upstream respond, where the request isn't rejected.
func finish(t testing.TB, r *emulator.Request) {
	if r.Forwarded() {
		r.Respond(emulator.Headers{{":status", "200"}, {"content-type", "text/plain"}}, nil)
	} else if r.LocalReply() == nil {
		t.Fatal("the request is held")
	}
	r.Done()
}

// single is one request whose calls are all answered alike; "" when it needs none.
func single(path, admitted string) turn {
	return func(t testing.TB, vm *emulator.VM) {
		r := begin(vm, path, "8f0c")
		if admitted != "" {
			answer(t, vm, admitted)
		}
		finish(t, r)
	}
}

// together are n requests for one key at once, which need so many calls.
func together(n, calls int) turn {
	return func(t testing.TB, vm *emulator.VM) {
		var all []*emulator.Request
		for i := range n {
			all = append(all, begin(vm, "/a", "8f0"+strconv.Itoa(i)))
		}
		made := 0
		for more := 1; more > 0; made += more {
			more = answer(t, vm, "1")
		}
		if made != calls {
			t.Fatalf("%d calls for %d requests, expected %d", made, n, calls)
		}
		for _, r := range all {
			finish(t, r)
		}
	}
}

// spread are n requests for one key, each so long after the one before.
func spread(n int, apart time.Duration) turn {
	return func(t testing.TB, vm *emulator.VM) {
		for range n {
			r := begin(vm, "/a", "8f0c")
			answer(t, vm, "1")
			finish(t, r)
			vm.Advance(apart)
			answer(t, vm, "1")
		}
	}
}

// answer is Redis: it answers every script call that waits, and returns how many
// those were.
func answer(t testing.TB, vm *emulator.VM, admitted string) (calls int) {
	t.Helper()
	for _, s := range vm.Streams() {
		d := redisproto.NewDecoder(redisproto.Limits{})
		d.Feed(s.TakeSent())
		var replies []byte
		for {
			v, ok, err := d.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if len(v.Elems) < 3 || string(v.Elems[0].Str) != "EVALSHA" {
				t.Fatalf("a command that is no script call: %q", v.Elems[0].Str)
			}
			counters, err := strconv.Atoi(string(v.Elems[2].Str))
			if err != nil {
				t.Fatal(err)
			}
			replies = append(replies, reply(admitted, counters)...)
			calls++
		}
		if len(replies) > 0 {
			s.Receive(replies)
		}
	}
	return calls
}

// measure takes turns until buffers have grown, then measures some more.
func measure(t *testing.T, config string, take turn) figures {
	t.Helper()
	wasm, err := counting()
	if err != nil {
		t.Fatal(err)
	}
	vm := emulator.Start(t, wasm, emulator.Config{Plugin: config})
	for range 200 {
		take(t, vm)
	}
	const n = 100
	before, ran := vm.Mallocs(), vm.Global(wasmcount.Name)
	calls := vm.HostCallsDuring(func() {
		for range n {
			take(t, vm)
		}
	})
	ran = vm.Global(wasmcount.Name) - ran
	f := figures{HostCalls: map[string]int{}, Mallocs: (vm.Mallocs() - before + n/2) / n, Instructions: int64(ran) / n}
	for name, c := range calls {
		if per := (c + n/2) / n; per > 0 {
			f.HostCalls[name] = per
		}
	}
	return f
}

func BenchmarkRequest(b *testing.B) {
	vm := emulator.Start(b, release(b), emulator.Config{Plugin: `{"limits":[{"name":"a","key":"header:x-user","rate":"5/s"}]}`})
	h := get("/a", "x-user", "u1")
	for b.Loop() {
		r := vm.Request(h)
		vm.Stream(0).TakeSent()
		vm.Stream(0).Receive(reply("1", 1))
		r.Respond(emulator.Headers{{":status", "200"}}, nil)
		r.Done()
	}
}
