package plugin

import (
	"testing"

	"sluice/internal/host"
	"sluice/internal/version"
)

// versionLines counts the lines that name the version.
func versionLines(r *rig) int {
	n := 0
	for _, l := range r.host.Logs {
		if l.Level == host.Info && l.Message == "sluice: version "+version.Version {
			n++
		}
	}
	return n
}

func TestVersionIsSaidOnceAProxy(t *testing.T) {
	const gauge, config = "version=.=0.1.0-dev;.;sluice_build_info", `{"limits":[{"name":"a","rate":"5/s"}]}`
	was := version.Version
	t.Cleanup(func() { version.Version = was })
	version.Version = "0.1.0-dev"
	r := newRig(t, config)
	second := r.worker(2)
	if !second.OnPluginStart(len(config)) {
		t.Fatal("refused")
	}
	if n, v := versionLines(r), r.host.Metrics.Value(gauge); n != 1 || v != 1 {
		t.Errorf("two workers: %d lines, gauge %d", n, v)
	}
	// Another version in the same proxy says so too, and the old one counts down.
	version.Version = "0.2.0"
	third := r.worker(3)
	third.OnPluginStart(len(config))
	if n := versionLines(r); n != 1 {
		t.Errorf("the new version: %d lines", n)
	}
	version.Version = "0.1.0-dev"
	r.w.OnPluginDone()
	second.OnPluginDone()
	if v, next := r.host.Metrics.Value(gauge), r.host.Metrics.Value("version=.=0.2.0;.;sluice_build_info"); v != 0 || next != 1 {
		t.Errorf("afterwards %d of the old, %d of the new", v, next)
	}
}

func TestRefusedConfigurationCountsNoVersion(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s"}]}`)
	r.host.Config = []byte(`{"limits":[{"name":"a","rate":"x"}]}`)
	bad := r.worker(2)
	if bad.OnPluginStart(len(r.host.Config)) {
		t.Fatal("accepted")
	}
	bad.OnPluginDone()
	if v := r.host.Metrics.Value("version=.=" + version.Version + ";.;sluice_build_info"); v != 1 {
		t.Errorf("gauge %d", v)
	}
}

// A new configuration of the same version starts before the old one is done.
func TestVersionOutlivesAConfiguration(t *testing.T) {
	const config = `{"limits":[{"name":"a","rate":"5/s"}]}`
	r := newRig(t, config)
	next := r.worker(2)
	next.OnPluginStart(len(config))
	r.w.OnPluginDone()
	if v := r.host.Metrics.Value("version=.=" + version.Version + ";.;sluice_build_info"); v != 1 {
		t.Errorf("gauge %d", v)
	}
}
