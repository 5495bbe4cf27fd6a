// Package hosttest is a proxy in memory, for tests of code that talks to a
// host.Host: it behaves as Envoy does where code can tell, and records what it
// was asked.
package hosttest

import (
	"maps"
	"slices"

	"sluice/internal/host"
)

// RootID is the context of the plugin itself, the effective one at first.
const RootID = 1

// Log is one line that was logged.
type Log struct {
	Level   host.Level
	Message string
}

// Host is one worker's proxy. Fields may be set and read between calls. It is
// not safe for concurrent use; several Hosts may share one Shared and are then
// the workers of one gateway, driven in turn.
type Host struct {
	Clock   int64             // Now, microseconds since the Unix epoch
	Uptime  int64             // Steady, microseconds
	Config  []byte            // the plugin's configuration
	Environ map[string]string // environment variables
	Shared  *Shared

	Logs    []Log
	TickMS  uint32         // the period last asked for; 0 is none
	Calls   map[string]int // host calls by the method's name
	Streams Streams
	HTTP    HTTPCalls
	Redis   Redis
	Metrics Metrics

	requests  map[uint32]*Request
	effective uint32
	random    uint64
}

var _ host.Host = (*Host)(nil)

// New returns a proxy without requests, at noon of a day in 2026.
func New() *Host {
	return &Host{
		Clock:     1_780_000_000_000_000,
		Uptime:    1_000_000,
		Shared:    &Shared{},
		Calls:     map[string]int{},
		requests:  map[uint32]*Request{},
		effective: RootID,
		random:    1,
	}
}

// Advance moves both clocks by so many microseconds.
func (h *Host) Advance(micros int64) {
	h.Clock += micros
	h.Uptime += micros
}

// Request starts a request with these headers, whose context is effective from
// now on. id must not be RootID.
func (h *Host) Request(id uint32, headers ...[2]string) *Request {
	r := newRequest(id)
	r.Maps[host.RequestHeaders] = slices.Clone(headers)
	h.requests[id] = r
	h.effective = id
	return r
}

// Forget ends a request: its context is gone.
func (h *Host) Forget(id uint32) {
	delete(h.requests, id)
	if h.effective == id {
		h.effective = RootID
	}
}

// Effective is the context that calls act on.
func (h *Host) Effective() uint32 { return h.effective }

// Enter makes id effective as the host does when it runs one of id's callbacks.
func (h *Host) Enter(id uint32) { h.effective = id }

// CallsSince runs f and returns the host calls that it made.
func (h *Host) CallsSince(f func()) map[string]int {
	before := maps.Clone(h.Calls)
	f()
	made := map[string]int{}
	for name, n := range h.Calls {
		if n -= before[name]; n > 0 {
			made[name] = n
		}
	}
	return made
}

// request is the effective request, nil for the root and for one that is gone.
func (h *Host) request() *Request { return h.requests[h.effective] }

func (h *Host) Log(l host.Level, msg string) {
	h.Calls["Log"]++
	h.Logs = append(h.Logs, Log{l, string([]byte(msg))})
}

func (h *Host) Now() int64 {
	h.Calls["Now"]++
	return h.Clock
}

func (h *Host) Steady() int64 {
	h.Calls["Steady"]++
	return h.Uptime
}

func (h *Host) PluginConfiguration() ([]byte, host.Status) {
	h.Calls["PluginConfiguration"]++
	return slices.Clone(h.Config), host.OK
}

func (h *Host) Env(name string) string { return h.Environ[name] }

// Random gives the same bytes in each run.
func (h *Host) Random(b []byte) {
	h.Calls["Random"]++
	for i := range b {
		h.random = h.random*6364136223846793005 + 1442695040888963407
		b[i] = byte(h.random >> 56)
	}
}

func (h *Host) SetTick(ms uint32) host.Status {
	h.Calls["SetTick"]++
	h.TickMS = ms
	return host.OK
}

func (h *Host) SetEffectiveContext(id uint32) host.Status {
	h.Calls["SetEffectiveContext"]++
	if _, ok := h.requests[id]; !ok && id != RootID {
		return host.BadArgument
	}
	h.effective = id
	return host.OK
}
