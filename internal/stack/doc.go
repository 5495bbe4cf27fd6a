// Package stack starts what sluice runs with: Envoy, Redis, a Redis Cluster and
// an upstream. `sluice dev`, the end-to-end tests and the benchmarks share it.
//
// Every server listens on 127.0.0.1 only, writes to a log file, and ends with
// this program: on Close, on an error, on a signal, and (on Linux) even when
// this program is killed.
package stack

import "time"

// Host is the only address that anything here listens on.
const Host = "127.0.0.1"

// stopGrace is how long a server may take to end by itself before it is killed.
const stopGrace = 5 * time.Second
