//go:build wasip1 && tinygo && gc

package streamlog

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

//go:wasmexport proxy_on_log
func onLog(id uint32) {
	defer goabi.Recover("proxy_on_log", id, nil)
	sdk.OnLog(id)
}
