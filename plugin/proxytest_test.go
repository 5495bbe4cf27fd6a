package plugin

import (
	"strconv"
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/proxytest"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/goabi"
	"sluice/internal/host/sdkhost"
)

// The plugin's contexts under the emulator of the SDK for Go, driven by its
// callbacks; only the stream to Redis, which it lacks, is scripted.
func TestUnderTheSDKsEmulator(t *testing.T) {
	h := &sdkhost.Host{}
	vm := NewVM(h)
	h.Streams.OnMessage = vm.StreamMessage
	h.Streams.OnClose = vm.StreamClosed
	proxy, reset := proxytest.NewHostEmulator(proxytest.NewEmulatorOption().
		WithVMContext(sdkhost.Contexts(&goabi.Contexts{VM: vm})).
		WithPluginConfiguration([]byte(oneLimit)))
	defer reset()
	if s := proxy.StartPlugin(); s != types.OnPluginStartStatusOK {
		t.Fatalf("start: %v; %v", s, proxy.GetErrorLogs())
	}

	n := 0
	request := func(reply []byte) uint32 {
		t.Helper()
		n++
		id := proxy.InitializeHttpContext()
		a := proxy.CallOnRequestHeaders(id, get("/a", "x-request-id", strconv.Itoa(n)), true)
		if a != types.ActionPause {
			t.Fatalf("action %v, want a pause", a)
		}
		if !h.Streams.Last().Receive(reply) {
			t.Fatal("no stream to reply on")
		}
		return id
	}

	id := request(admitted)
	if a := proxy.GetCurrentHttpStreamAction(id); a != types.ActionContinue {
		t.Errorf("admitted: action %v", a)
	}
	proxy.CallOnResponseHeaders(id, [][2]string{{":status", "200"}}, true)
	found := ""
	for _, x := range proxy.GetCurrentResponseHeaders(id) {
		if x[0] == "ratelimit" {
			found = x[1]
		}
	}
	if found != `"a";r=4;t=2` {
		t.Errorf("ratelimit: %q", found)
	}
	proxy.CompleteHttpContext(id)

	id = request(decision(serverTime, 0, 0, 5, 0, 1200, 1200))
	answer := proxy.GetSentLocalResponse(id)
	if answer == nil || answer.StatusCode != 429 {
		t.Errorf("rejected: %+v", answer)
	}
	proxy.Tick() // tells the proxy what was summed up
	if n, err := proxy.GetCounterMetric("limit=.=a;.;outcome=.=rejected;.;sluice_decisions_total"); err != nil || n != 1 {
		t.Errorf("rejected counts %d, %v", n, err)
	}
}
