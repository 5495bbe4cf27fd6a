package emulator

import "slices"

var metricCalls = []hostCall{
	{"proxy_define_metric", "iiii", (*VM).defineMetric},
	{"proxy_increment_metric", "il", (*VM).incrementMetric},
	{"proxy_record_metric", "il", (*VM).recordMetric},
	{"proxy_get_metric", "ii", (*VM).getMetric},
}

// Kinds of metrics; an identifier's last two bits say its kind.
const (
	metricCounter   = 0
	metricGauge     = 1
	metricHistogram = 2
	metricKinds     = 3
	metricKindMask  = 3
	metricStep      = 4
)

// metrics are a proxy's, shared by its workers. Kinds are apart, as in Envoy.
type metrics [metricKinds]map[string]*metric

type metric struct {
	value   int64
	records []uint64
}

// vmMetrics are the identifiers that one VM knows.
type vmMetrics struct {
	byID map[uint32]*metric
	last [metricKinds]uint32
}

// Metric returns a counter's or gauge's value, -1 if it was never defined.
func (vm *VM) Metric(name string) int64 {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	for _, kind := range []int{metricCounter, metricGauge} {
		if m := vm.proxy.metrics[kind][name]; m != nil {
			return m.value
		}
	}
	return -1
}

// Histogram returns what was recorded in a histogram.
func (vm *VM) Histogram(name string) []uint64 {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	if m := vm.proxy.metrics[metricHistogram][name]; m != nil {
		return slices.Clone(m.records)
	}
	return nil
}

// MetricNames lists every metric that was defined, sorted.
func (vm *VM) MetricNames() []string {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	var all []string
	for _, byName := range vm.proxy.metrics {
		for name := range byName {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (vm *VM) defineMetric(a []uint64) status {
	name, readable := vm.text(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	if a[0] >= metricKinds {
		return badArgument
	}
	kind := uint32(a[0])
	vm.proxy.mu.Lock()
	byName := &vm.proxy.metrics[kind]
	if *byName == nil {
		*byName = map[string]*metric{}
	}
	m := (*byName)[name]
	if m == nil {
		m = &metric{}
		(*byName)[name] = m
	}
	vm.proxy.mu.Unlock()
	own := &vm.metrics
	if own.byID == nil {
		own.byID = map[uint32]*metric{}
		own.last = [metricKinds]uint32{metricCounter, metricGauge, metricHistogram}
	}
	// A second definition gets another identifier for the same metric.
	own.last[kind] += metricStep
	own.byID[own.last[kind]] = m
	return vm.giveWord(own.last[kind], a[3])
}

func (vm *VM) incrementMetric(a []uint64) status {
	id, delta := uint32(a[0]), int64(a[1])
	kind := id & metricKindMask
	if kind != metricCounter && kind != metricGauge {
		return badArgument
	}
	m := vm.metrics.byID[id]
	if m == nil {
		return notFound
	}
	if kind == metricCounter && delta <= 0 {
		return badArgument
	}
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	m.value += delta
	return ok
}

func (vm *VM) recordMetric(a []uint64) status {
	id, value := uint32(a[0]), a[1]
	m := vm.metrics.byID[id]
	if m == nil {
		return notFound
	}
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	switch id & metricKindMask {
	case metricCounter:
		m.value += int64(value)
	case metricGauge:
		m.value = int64(value)
	case metricHistogram:
		m.records = append(m.records, value)
	}
	return ok
}

func (vm *VM) getMetric(a []uint64) status {
	id := uint32(a[0])
	if kind := id & metricKindMask; kind != metricCounter && kind != metricGauge {
		return badArgument
	}
	m := vm.metrics.byID[id]
	if m == nil {
		return notFound
	}
	vm.proxy.mu.Lock()
	value := m.value
	vm.proxy.mu.Unlock()
	if !vm.putLong(a[1], uint64(value)) {
		return invalidMemoryAccess
	}
	return ok
}
