//go:build wasip1

package queue

import "sluice/internal/goabi"

// Reader is a goabi.Plugin that is told of new entries in the queues that it
// registered.
type Reader interface {
	OnQueueReady(queueID uint32)
}

//go:wasmexport proxy_on_queue_ready
func onQueueReady(rootID, queueID uint32) {
	defer goabi.Recover("proxy_on_queue_ready", rootID, nil)
	if r, ok := goabi.PluginOf(rootID).(Reader); ok {
		r.OnQueueReady(queueID)
	}
}
