package hosttest

import "sluice/internal/host"

// Metrics are the metrics that were defined.
type Metrics struct {
	list []*metric // by identifier - 1
}

type metric struct {
	kind    host.MetricType
	name    string
	value   int64
	records []uint64
}

// Value returns a counter or gauge, -1 when there is none of that name.
func (m *Metrics) Value(name string) int64 {
	if x := m.find(name); x != nil {
		return x.value
	}
	return -1
}

// Records returns what was recorded in a histogram.
func (m *Metrics) Records(name string) []uint64 {
	if x := m.find(name); x != nil {
		return x.records
	}
	return nil
}

// Names lists all metrics in the order of their definition.
func (m *Metrics) Names() []string {
	names := make([]string, len(m.list))
	for i, x := range m.list {
		names[i] = x.name
	}
	return names
}

func (m *Metrics) find(name string) *metric {
	for _, x := range m.list {
		if x.name == name {
			return x
		}
	}
	return nil
}

func (m *Metrics) at(id uint32) *metric {
	if id == 0 || int(id) > len(m.list) {
		return nil
	}
	return m.list[id-1]
}

func (h *Host) DefineMetric(t host.MetricType, name string) (uint32, host.Status) {
	h.Calls["DefineMetric"]++
	if t > host.Histogram {
		return 0, host.BadArgument
	}
	for i, x := range h.Metrics.list {
		if x.kind == t && x.name == name {
			return uint32(i + 1), host.OK
		}
	}
	h.Metrics.list = append(h.Metrics.list, &metric{kind: t, name: string([]byte(name))})
	return uint32(len(h.Metrics.list)), host.OK
}

func (h *Host) IncrementMetric(id uint32, delta int64) host.Status {
	h.Calls["IncrementMetric"]++
	m := h.Metrics.at(id)
	switch {
	case m == nil:
		return host.NotFound
	case m.kind == host.Histogram, m.kind == host.Counter && delta <= 0:
		return host.BadArgument
	}
	m.value += delta
	return host.OK
}

func (h *Host) RecordMetric(id uint32, value uint64) host.Status {
	h.Calls["RecordMetric"]++
	m := h.Metrics.at(id)
	if m == nil {
		return host.NotFound
	}
	switch m.kind {
	case host.Counter:
		m.value += int64(value)
	case host.Gauge:
		m.value = int64(value)
	case host.Histogram:
		m.records = append(m.records, value)
	}
	return host.OK
}
