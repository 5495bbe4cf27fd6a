package plugin

import (
	"sluice/internal/host"
	"sluice/internal/version"
)

// versionKey is the shared data that names the version which started last, so
// that a proxy logs it once and not once a worker.
const versionKey = "sluice.version"

// announce says which version runs: in the log, and as a gauge that is 1.
func (w *worker) announce() {
	w.metrics.build = define(w.host, host.Gauge, "version=.="+version.Version+";.;sluice_build_info")
	w.metrics.build.record(1)
	last, cas, s := w.host.SharedData(versionKey)
	switch {
	case s != host.OK:
		cas = createOnly
	case string(last) == version.Version:
		return
	}
	if w.host.SetSharedData(versionKey, []byte(version.Version), cas) == host.OK {
		w.host.Log(host.Info, "sluice: version "+version.Version)
	}
}

// retire takes the gauge back when another version has taken over. It can't be
// counted up and down: the copy in which a proxy tries a configuration first is
// dropped without a word.
func (w *worker) retire() {
	if last, _, s := w.host.SharedData(versionKey); s == host.OK && string(last) != version.Version {
		w.metrics.build.record(0)
	}
}
