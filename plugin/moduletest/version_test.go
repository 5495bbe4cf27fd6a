package moduletest

import (
	"testing"

	"sluice/internal/emulator"
	"sluice/internal/version"
	"sluice/internal/wasmfile"
)

// The version is compiled into the module and stamped on its file, by two steps
// of the build: both must say the same.
func TestFileAndModuleAgreeOnTheVersion(t *testing.T) {
	module := release(t)
	info, err := wasmfile.Describe(module)
	if err != nil {
		t.Fatal(err)
	}
	if info.Version != version.Version || info.Host != "envoy" || info.ABI != "0.2.1" {
		t.Errorf("the file says %+v, expected version %s", info, version.Version)
	}
	vm := emulator.Start(t, module, emulator.Config{Plugin: `{"limits":[{"name":"a","rate":"5/s"}]}`})
	if n := vm.Metric("version=.=" + info.Version + ";.;sluice_build_info"); n != 1 {
		t.Errorf("sluice_build_info{version=%q} is %d", info.Version, n)
	}
}
