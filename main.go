// The plugin as a proxy-wasm module. Everything is in package plugin; main only
// joins it to the proxy.
package main

import "sluice/plugin"

func init() { plugin.Run() }

func main() {}
