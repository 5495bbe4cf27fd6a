//go:build wasip1

// Command noop is a module that does nothing, with the callbacks of the plugin:
// what standard Go in a proxy costs by itself.
package main

import (
	"sluice/internal/goabi"
	_ "sluice/internal/goabi/body"
	_ "sluice/internal/goabi/done"
	_ "sluice/internal/goabi/trailers"
)

func main() {}

func init() { goabi.Serve(vm{}) }

type vm struct{}

func (vm) NewPluginContext(uint32) goabi.Plugin { return plugin{} }

type plugin struct{}

func (plugin) OnPluginStart(int) bool             { return true }
func (plugin) OnTick()                            {}
func (plugin) NewHttpContext(uint32) goabi.Stream { return goabi.Idle{} }
func (plugin) OnPluginDone() bool                 { return true }
