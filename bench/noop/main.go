//go:build wasip1 && tinygo && gc

// Command noop is a module that does nothing, with the callbacks of the plugin:
// what standard Go in a proxy costs by itself.
package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	_ "sluice/internal/goabi"
	_ "sluice/internal/goabi/body"
	_ "sluice/internal/goabi/done"
	_ "sluice/internal/goabi/streamlog"
	_ "sluice/internal/goabi/trailers"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

type vm struct{ types.DefaultVMContext }

func (*vm) NewPluginContext(uint32) types.PluginContext { return &plugin{} }

type plugin struct{ types.DefaultPluginContext }

func (*plugin) NewHttpContext(uint32) types.HttpContext { return &types.DefaultHttpContext{} }
