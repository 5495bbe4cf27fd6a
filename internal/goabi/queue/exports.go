//go:build wasip1 && tinygo && gc

package queue

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

//go:wasmexport proxy_on_queue_ready
func onQueueReady(rootID, queueID uint32) {
	defer goabi.Recover("proxy_on_queue_ready", rootID, nil)
	sdk.OnQueueReady(rootID, queueID)
}
