//go:build wasip1

package vmstart

import "sluice/internal/goabi"

// OnStart may read goabi.BufferVMConfiguration, size bytes long. With false the VM
// isn't used.
var OnStart func(size int) bool

//go:wasmexport proxy_on_vm_start
func onVMStart(rootID, size uint32) (ok uint32) {
	defer goabi.Recover("proxy_on_vm_start", rootID, nil)
	return goabi.Bool(OnStart == nil || OnStart(int(size)))
}
