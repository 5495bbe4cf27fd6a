//go:build wasip1 && !higress

package plugin

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

// contextsOf is the VM as any proxy but Higress's uses it.
func contextsOf(vm *VM) types.VMContext { return vm }
