//go:build wasip1 && higress

package plugin

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/redis"
)

// contextsOf is the VM as Higress uses it: with its Redis calls, and with
// configurations for some routes, domains or services.
func contextsOf(vm *VM) goabi.VM {
	redis.OnReply = func(_, token, status, size uint32) { vm.RedisReplied(token, status, int(size)) }
	return ruledVM{vm}
}
