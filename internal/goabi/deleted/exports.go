//go:build wasip1

package deleted

import "sluice/internal/goabi"

//go:wasmexport proxy_on_delete
func onDelete(id uint32) {
	defer goabi.Recover("proxy_on_delete", id, nil)
	goabi.Forget(id)
}
