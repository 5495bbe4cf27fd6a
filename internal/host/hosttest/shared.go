package hosttest

import (
	"maps"
	"slices"

	"sluice/internal/host"
)

// Shared is the data that the workers of one gateway share.
type Shared struct {
	values map[string]sharedValue
	cas    uint32
	// Interfere, if set, runs before each SetSharedData with a cas, once: what
	// another worker would have done in between.
	Interfere func()
}

type sharedValue struct {
	data []byte
	cas  uint32
}

// Set overwrites a value, as another worker would.
func (s *Shared) Set(key string, value []byte) {
	if s.values == nil {
		s.values = map[string]sharedValue{}
	}
	s.cas++
	s.values[string([]byte(key))] = sharedValue{slices.Clone(value), s.cas}
}

// Get returns a value, nil when there is none.
func (s *Shared) Get(key string) []byte { return slices.Clone(s.values[key].data) }

// Keys lists what was set, sorted.
func (s *Shared) Keys() []string { return slices.Sorted(maps.Keys(s.values)) }

func (h *Host) SharedData(key string) (value []byte, cas uint32, st host.Status) {
	h.Calls["SharedData"]++
	v, ok := h.Shared.values[key]
	if !ok {
		return nil, 0, host.NotFound
	}
	return slices.Clone(v.data), v.cas, host.OK
}

func (h *Host) SetSharedData(key string, value []byte, cas uint32) host.Status {
	h.Calls["SetSharedData"]++
	if f := h.Shared.Interfere; f != nil && cas != 0 {
		h.Shared.Interfere = nil
		f()
	}
	if v, ok := h.Shared.values[key]; ok && cas != 0 && cas != v.cas {
		return host.CasMismatch
	}
	h.Shared.Set(key, value)
	return host.OK
}
