//go:build wasip1 && !higress

package plugin

import "sluice/internal/goabi"

// contextsOf is the VM as any proxy but Higress's uses it.
func contextsOf(vm *VM) goabi.VM { return vm }
