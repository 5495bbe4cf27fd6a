package playground_test

import (
	"flag"
	"os"
	"testing"

	"sluice/internal/stack/stacktest"
)

var screenshots = flag.String("screenshots", "", "folder to write the README's pictures of the page to")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(stacktest.Main(m))
}
