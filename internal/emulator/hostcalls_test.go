package emulator_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sluice/internal/emulator"
)

// want is what an operation must have found: its name, then the status and the
// value.
type want struct{ op, found string }

// tries lists, for requests in the order of the list, what the operations in
// their headers must find. Each group runs in a VM of its own.
var tries = map[string][]struct {
	ops  string
	want []want
}{
	"log, clock and random": {
		{"abi.log,4,hello host.log,goodbye", []want{{"log", "0"}}},
		{"abi.log_level", []want{{"log_level", "0 2"}}},
		{"abi.time", []want{{"time", "0 1780315200000000000"}}},
		{"abi.monotonic", []want{{"monotonic", "0 3600000000000"}}},
		// More than the 64 KiB that a host gives at once; the tail is filled too.
		{"abi.random,150000", []want{{"random", "0 0"}}},
	},
	"header maps": {
		{"abi.get,0,:path host.add,x-new,1 host.add,x-new,2", []want{{"get", "0 /a?b=1"}, {"add", "0"}}},
		{"abi.get,0,X-OP", []want{{"get", "0 abi.get,0,X-OP"}}},
		{"abi.get,0,x-none", []want{{"get", "1"}}},
		{"host.get,x-none", []want{{"get", "1"}}},
		{"host.get,:authority", []want{{"get", "0 a.test"}}},
		{"abi.get,2,:status", []want{{"get", "2"}}}, // no response yet
		{"abi.get,99,x", []want{{"get", "2"}}},
		{"abi.pairs,99", []want{{"pairs", "2"}}},
		{"abi.pairs,0", []want{{"pairs", "0 :method=GET :path=/a?b=1 :authority=a.test :scheme=http x-op=abi.pairs,0"}}},
		{"host.pairs", []want{{"pairs", "0 :method=GET :path=/a?b=1 :authority=a.test :scheme=http x-op=host.pairs"}}},
		{"abi.pairs,2", []want{{"pairs", "0"}}},
		{"abi.add,0,X-New,1 abi.add,0,x-new,2 abi.get,0,x-new", []want{{"add", "0"}, {"get", "0 1"}}},
		{"abi.add,2,x,1", []want{{"add", "2"}}},
		{"abi.add,0,a,1 abi.add,0,b,2 abi.add,0,a,3 abi.replace,0,a,4 abi.remove,0,x-op abi.remove,0,:scheme abi.pairs,0", []want{
			{"replace", "0"}, {"remove", "0"},
			{"pairs", "0 :method=GET :path=/a?b=1 :authority=a.test b=2 a=4"},
		}},
		{"host.replace,b,1 host.replace,:path,/other host.remove,:scheme host.remove,x-op host.pairs", []want{
			{"pairs", "0 :method=GET :authority=a.test :path=/other b=1"},
		}},
		{"abi.set_pairs,0,:path,/x,y,z abi.pairs,0", []want{{"set_pairs", "0"}, {"pairs", "0 :path=/x y=z"}}},
		{"abi.set_pairs,0,:path,/x,y,z host.pairs", []want{{"set_pairs", "0"}, {"pairs", "0 :path=/x y=z"}}},
		{"abi.set_pairs,3,a,b", []want{{"set_pairs", "2"}}},
		{"abi.set_pairs,0,:path,/x abi.map_size,0", []want{{"map_size", "0 7"}}},
		{"abi.map_size,1", []want{{"map_size", "2 0"}}},
	},
	"properties": {
		{"abi.property,request,path", []want{{"property", "0 /a?b=1"}}},
		{"host.property,request,url_path", []want{{"property", "0 /a"}}},
		{"abi.property,request,query", []want{{"property", "0 b=1"}}},
		{"abi.property,request,headers,:authority", []want{{"property", "0 a.test"}}},
		{"abi.property,source,address", []want{{"property", "0 192.0.2.7:4711"}}},
		{"host.property,source,address", []want{{"property", "0 192.0.2.7:4711"}}},
		{"abi.property,metadata,filter_metadata,my.ns,key", []want{{"property", "1"}}},
		{"abi.property,plugin_root_id", []want{{"property", "0 the-root"}}},
		{"host.property,nothing", []want{{"property", "1"}}},
		{"abi.set_property,mine,value abi.property,mine", []want{{"set_property", "0"}, {"property", "0 value"}}},
		{"host.set_property,mine,value abi.property,filter_state,wasm.mine", []want{{"set_property", "0"}, {"property", "0 value"}}},
		{"abi.property,mine", []want{{"property", "1"}}}, // another request's
		{"abi.effective,1 abi.set_property,a,b abi.property,request,path", []want{{"set_property", "1"}, {"property", "1"}}},
	},
	"effective context": {
		{"abi.effective,777 abi.get,0,:path", []want{{"effective", "2"}, {"get", "0 /a?b=1"}}},
		{"host.effective,777", []want{{"effective", "2"}}},
		{"abi.effective,1 abi.get,0,:path", []want{{"effective", "0"}, {"get", "2"}}},
		{"host.effective,1 abi.effective,0 abi.get,0,:path", []want{{"effective", "0"}, {"get", "0 /a?b=1"}}},
	},
	"metrics": {
		{"abi.define,0,c abi.define,1,g abi.define,2,h", []want{{"define", "0 6"}}},
		{"abi.increment,4,3 abi.record,4,2 abi.metric,4", []want{{"increment", "0"}, {"record", "0"}, {"metric", "0 5"}}},
		{"abi.increment,4,0", []want{{"increment", "2"}}},
		{"abi.increment,4,-1", []want{{"increment", "2"}}},
		{"abi.record,5,40 abi.increment,5,-2 abi.increment,5,5000000000 abi.metric,5", []want{{"metric", "0 5000000038"}}},
		{"abi.record,6,7 abi.record,6,9000000000", []want{{"record", "0"}}},
		{"abi.metric,6", []want{{"metric", "2 0"}}},
		{"abi.increment,6,1", []want{{"increment", "2"}}},
		{"abi.metric,400", []want{{"metric", "1 0"}}},
		{"abi.define,3,x", []want{{"define", "2 0"}}},
		// The same name is the same metric under another number.
		{"abi.define,0,c abi.metric,8", []want{{"define", "0 8"}, {"metric", "0 5"}}},
	},
	"metrics through package host": {
		{"host.define,c,g,h host.count,5", []want{{"counter", "0 5"}, {"gauge", "0 -5"}}},
		{"host.count,2", []want{{"counter", "0 7"}, {"gauge", "0 -7"}}},
	},
	"shared data": {
		{"abi.shared,k", []want{{"shared", "1 0"}}},
		{"abi.set_shared,k,one,4294967295 abi.shared,k", []want{{"set_shared", "0"}, {"shared", "0 1 one"}}},
		{"abi.set_shared,k,two,4294967295", []want{{"set_shared", "8"}}},
		{"host.set_shared,k,two,9", []want{{"set_shared", "8"}}},
		{"host.set_shared,k,two,1 host.shared,k", []want{{"set_shared", "0"}, {"shared", "0 2 two"}}},
		{"abi.set_shared,k,three,0 abi.shared,k", []want{{"set_shared", "0"}, {"shared", "0 3 three"}}},
		{"abi.set_shared,k,,0 abi.shared,k host.shared,none", []want{{"set_shared", "0"}, {"shared", "1 0"}}},
	},
	"shared queues": {
		{"abi.resolve_queue,,q", []want{{"resolve_queue", "1 0"}}},
		{"abi.register_queue,q abi.register_queue,q", []want{{"register_queue", "0 1"}}},
		{"abi.register_queue,p abi.resolve_queue,the-vm,p", []want{{"register_queue", "0 2"}, {"resolve_queue", "0 2"}}},
		{"abi.resolve_queue,other-vm,q", []want{{"resolve_queue", "1 0"}}},
		{"abi.resolve_queue,,q", []want{{"resolve_queue", "0 1"}}},
		{"abi.dequeue,1", []want{{"dequeue", "7"}}},
		{"abi.enqueue,1,first abi.enqueue,1,second abi.dequeue,1", []want{{"enqueue", "0"}, {"dequeue", "0 first"}}},
		{"abi.dequeue,1", []want{{"dequeue", "0 second"}}},
		{"abi.dequeue,1", []want{{"dequeue", "7"}}},
		{"abi.enqueue,9,x", []want{{"enqueue", "1"}}},
		{"abi.dequeue,0", []want{{"dequeue", "1"}}},
	},
	"foreign functions": {
		{"abi.foreign,upper,abc", []want{{"foreign", "0 ABC"}}},
		{"abi.foreign,nothing,abc", []want{{"foreign", "0"}}},
		{"abi.foreign,fails,abc", []want{{"foreign", "10"}}},
		{"abi.foreign,none,abc", []want{{"foreign", "1"}}},
	},
	"the plugin's end": {
		{"abi.effective,1 abi.done", []want{{"done", "1"}}}, // nobody waits for it
	},
	"buffers outside their callbacks": {
		{"abi.buffer,0,0,10", []want{{"buffer", "0"}}},
		{"abi.buffer,5,0,10", []want{{"buffer", "0"}}},
		{"abi.buffer,7,0,10", []want{{"buffer", "1"}}},
		{"abi.buffer,6,3,3", []want{{"buffer", "0 the"}}},
		{"abi.buffer,6,99,3", []want{{"buffer", "0"}}},
		{"abi.buffer,99,0,3", []want{{"buffer", "2"}}},
		{"abi.buffer_status,6", []want{{"buffer_status", "0 14 0"}}},
		{"abi.buffer_status,1", []want{{"buffer_status", "0 0 0"}}},
		{"abi.set_buffer,6,0,0,x", []want{{"set_buffer", "2"}}},
		{"abi.set_buffer,1,0,0,x", []want{{"set_buffer", "2"}}},
		{"host.body,0,10", []want{{"body", "0"}}},
	},
}

func TestHostCalls(t *testing.T) {
	for name, requests := range tries {
		t.Run(name, func(t *testing.T) {
			vm := start(t, emulator.Config{
				VM:       "in the VM, set",
				VMID:     "the-vm",
				RootID:   "the-root",
				LogLevel: 2,
				Properties: map[string][]byte{
					emulator.Path("source", "address"): []byte("192.0.2.7:4711"),
				},
				Foreign: map[string]func([]byte) ([]byte, error){
					"upper":   func(b []byte) ([]byte, error) { return []byte(strings.ToUpper(string(b))), nil },
					"nothing": func([]byte) ([]byte, error) { return nil, nil },
					"fails":   func([]byte) ([]byte, error) { return nil, errors.New("no") },
				},
			})
			for _, r := range requests {
				do(vm, r.ops).Respond(emulator.Headers{{":status", "200"}}, nil)
				for _, w := range r.want {
					if got := found(vm, w.op); got != w.found {
						t.Errorf("%s: %s found %q, want %q", r.ops, w.op, got, w.found)
					}
				}
			}
			if vm.Err() != nil {
				t.Fatal(vm.Err())
			}
			for _, l := range vm.Logs() {
				if strings.HasPrefix(l.Message, "recovered") || strings.HasPrefix(l.Message, "no operation") {
					t.Errorf("%s", l.Message)
				}
			}
		})
	}
}

func TestLogsKeepTheirLevels(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "abi.log,4,hello host.log,goodbye")
	for _, want := range []emulator.Log{{Level: 4, Message: "hello"}, {Level: 5, Message: "goodbye"}} {
		if !slices.Contains(vm.Logs(), want) {
			t.Errorf("no line %v in %v", want, vm.Logs())
		}
	}
}

func TestMetricsAreSeen(t *testing.T) {
	vm := start(t, emulator.Config{})
	do(vm, "host.define,c,g,h host.count,5 host.count,2")
	equal(t, "counter", vm.Metric("c"), int64(7))
	equal(t, "gauge", vm.Metric("g"), int64(-7))
	equal(t, "unknown", vm.Metric("x"), int64(-1))
	if got := vm.Histogram("h"); !slices.Equal(got, []uint64{5, 2}) {
		t.Errorf("histogram: %v", got)
	}
	equal(t, "names", vm.MetricNames(), []string{"c", "g", "h"})
}

// Envoy has no way to read a histogram.
func TestHistogramIsNotRead(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "host.define,c,g,h host.read_histogram")
	equal(t, "histogram", found(vm, "histogram"), "2 0")
	if !r.Forwarded() {
		t.Error("the request didn't go on")
	}
}

// A host call that returns a value calls back for memory on the caller's own
// stack, which may grow and move just then.
func TestStackMovesDuringHostCalls(t *testing.T) {
	vm := start(t, emulator.Config{})
	want := strings.Repeat("v", 3000)
	vm.Request(request([2]string{"x-op", "deep,5000,x-long"}, [2]string{"x-long", want}))
	equal(t, "deep", found(vm, "deep"), "0 "+want)
}

func TestTooLargeValueIsRefused(t *testing.T) {
	vm := start(t, emulator.Config{Foreign: map[string]func([]byte) ([]byte, error){
		"huge": func([]byte) ([]byte, error) { return make([]byte, 65<<20), nil },
	}})
	do(vm, "abi.foreign,huge,x abi.get,0,:path")
	equal(t, "foreign", found(vm, "foreign"), "6")
	equal(t, "get", found(vm, "get"), "0 /a?b=1")
}
