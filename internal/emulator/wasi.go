package emulator

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

// wasi gives the instance its clocks, environment and output. Everything is the
// proxy's, so that a test can foresee it.
func (vm *VM) wasi() wazero.ModuleConfig {
	p := vm.proxy
	vm.stdio[1] = lineLog{level: 2}
	vm.stdio[2] = lineLog{level: 4}
	c := wazero.NewModuleConfig().
		WithWalltime(func() (int64, int32) {
			t := p.clock()
			return t.Unix(), int32(t.Nanosecond())
		}, sys.ClockResolution(1)).
		WithNanotime(func() int64 { return int64(p.uptime()) }, sys.ClockResolution(1)).
		WithNanosleep(func(ns int64) {
			if p.config.RealTime {
				time.Sleep(time.Duration(ns))
				return
			}
			p.setClock(p.clock().Add(time.Duration(ns)))
		}).
		WithRandSource(&random{state: 1}).
		WithStdout(vm.stdio[1].to(vm)).
		WithStderr(vm.stdio[2].to(vm))
	for _, name := range slices.Sorted(maps.Keys(p.config.Env)) {
		c = c.WithEnv(name, p.config.Env[name])
	}
	return c
}

// random is the same in each run.
type random struct{ state uint64 }

func (r *random) Read(b []byte) (int, error) {
	for i := range b {
		r.state = r.state*6364136223846793005 + 1442695040888963407
		b[i] = byte(r.state >> 56)
	}
	return len(b), nil
}

// lineLog turns output into log lines.
type lineLog struct {
	level   uint32
	partial []byte
}

type lineWriter struct {
	vm  *VM
	log *lineLog
}

func (l *lineLog) to(vm *VM) *lineWriter { return &lineWriter{vm, l} }

func (w *lineWriter) Write(b []byte) (int, error) {
	l := w.log
	l.partial = append(l.partial, b...)
	for {
		i := bytes.IndexByte(l.partial, '\n')
		if i < 0 {
			return len(b), nil
		}
		w.vm.logs = append(w.vm.logs, Log{l.level, string(l.partial[:i])})
		l.partial = l.partial[i+1:]
	}
}

// flush logs an unfinished line.
func (l *lineLog) flush(vm *VM) {
	if len(l.partial) > 0 {
		vm.logs = append(vm.logs, Log{l.level, string(l.partial)})
		l.partial = nil
	}
}
