//go:build wasip1 && higress

package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/goabi/redis"
)

// contextsOf is the VM as Higress uses it: with its Redis calls, and with
// configurations for some routes, domains or services.
func contextsOf(vm *VM) types.VMContext {
	redis.OnReply = func(_, token, status, size uint32) { vm.RedisReplied(token, status, int(size)) }
	return ruledVM{vm}
}
