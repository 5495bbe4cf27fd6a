// Package redis runs gateways on each way to have a Redis: one server, a master
// that Sentinel replaces, TLS with users that may do little, and other versions.
package redis

import (
	"os"
	"testing"

	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }
