package emulator_test

import (
	"testing"

	"sluice/internal/emulator"
)

func TestTCP(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "tcp"})
	from := len(vm.Logs())
	c := vm.Connect()
	if c.Paused() {
		t.Fatal("paused")
	}
	c.Send([]byte("hello "), false)
	c.Send([]byte("append"), false)
	equal(t, "to upstream", string(c.ToUpstream()), "hello appended")
	c.Reply([]byte("replace"), true)
	equal(t, "to client", string(c.ToClient()), "replaced")
	c.Close(emulator.PeerRemote)
	if !c.Ended() {
		t.Error("not over")
	}
	equal(t, "callbacks", callbacks(vm, from), []string{
		"proxy_on_context_create 2 1",
		"proxy_on_new_connection 2",
		"proxy_on_downstream_data 2 6 0",
		"proxy_on_downstream_data 2 6 0",
		"proxy_on_upstream_data 2 7 1",
		"proxy_on_upstream_connection_close 2 0",
		"proxy_on_downstream_connection_close 2 2",
		"proxy_on_log 2",
	})
}

func TestTCPHoldsBack(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "tcp"})
	c := vm.Connect()
	c.Send([]byte("pause"), false)
	if !c.Paused() || len(c.ToUpstream()) > 0 {
		t.Fatal("went on")
	}
	// What is held back comes again, with what is new.
	c.Send([]byte(" no more"), false)
	equal(t, "downstream", found(vm, "downstream"), "0 pause no more")
	equal(t, "to upstream", string(c.ToUpstream()), "pause no more")
	c.Send([]byte("prepend"), false)
	equal(t, "to upstream", string(c.ToUpstream()), "pause no morepreprepend")
	c.Send([]byte("close upstream"), false)
	if !c.Ended() {
		t.Error("not closed")
	}
}

func TestTCPClosedByPlugin(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "tcp pause"})
	c := vm.Connect()
	if !c.Paused() {
		t.Fatal("not paused")
	}
	from := len(vm.Logs())
	c.Send([]byte("close downstream"), false)
	equal(t, "close", found(vm, "close"), "0")
	equal(t, "callbacks", callbacks(vm, from)[1:], []string{"proxy_on_downstream_connection_close 2 1", "proxy_on_log 2"})
}
