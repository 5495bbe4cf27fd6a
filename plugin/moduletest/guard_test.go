package moduletest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/emulator"
	"sluice/internal/wasmcount"
)

var update = flag.Bool("update", false, "store the figures that the guard measures")

// figures are what one request costs: host calls by name, objects allocated by
// the plugin, and instructions that it runs. The last is compared with a little
// room, for the share of a collection of garbage that a request has.
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
	)
	kind := func(how string) string {
		return `{"limits":[{"name":"a","match":{"path":"/a"},"key":"header:x-user","rate":"5/s",` + how + `}]}`
	}
	got := map[string]figures{
		"no limit matches":       measure(t, one, "/b", "", 0),
		"one limit, admitted":    measure(t, one, "/a", "1", 1),
		"one limit, rejected":    measure(t, one, "/a", "0", 1),
		"three limits, admitted": measure(t, three, "/a", "1", 3),
		"a gateway's own limit":  measure(t, own, "/a", "", 0),
		"zset, admitted":         measure(t, kind(`"storage":"zset"`), "/a", "1", 1),
		"token_bucket, admitted": measure(t, kind(`"algorithm":"token_bucket"`), "/a", "1", 1),
		"fixed_window, admitted": measure(t, kind(`"algorithm":"fixed_window"`), "/a", "1", 1),
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

// measure runs requests until buffers have grown, then measures some more.
func measure(t *testing.T, config, path, admitted string, counters int) figures {
	t.Helper()
	wasm, err := counting()
	if err != nil {
		t.Fatal(err)
	}
	vm := emulator.Start(t, wasm, emulator.Config{Plugin: config})
	request := func() {
		r := vm.Request(get(path, "x-request-id", "8f0c", "x-user", "u1", "user-agent", "curl/8", "accept", "*/*"))
		if admitted != "" {
			vm.Stream(0).TakeSent()
			vm.Stream(0).Receive(reply(admitted, counters))
		}
		if r.Forwarded() {
			r.Respond(emulator.Headers{{":status", "200"}, {"content-type", "text/plain"}}, nil)
		} else if r.LocalReply() == nil {
			t.Fatal("the request is held")
		}
		r.Done()
	}
	for range 200 {
		request()
	}
	const n = 100
	before, ran := vm.Mallocs(), vm.Global(wasmcount.Name)
	calls := vm.HostCallsDuring(func() {
		for range n {
			request()
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
