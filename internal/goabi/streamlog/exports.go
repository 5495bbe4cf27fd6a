//go:build wasip1

package streamlog

import "sluice/internal/goabi"

//go:wasmexport proxy_on_log
func onLog(id uint32) {
	defer goabi.Recover("proxy_on_log", id, nil)
	goabi.End(id)
}
