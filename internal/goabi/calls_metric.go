//go:build wasip1

package goabi

// DefineMetric creates a metric or finds it by its name.
func DefineMetric(kind uint32, name string) (id uint32, s Status) {
	return word(proxyDefineMetric(kind, name, &out.word))
}

// IncrementMetric adds to a counter (delta > 0) or a gauge.
func IncrementMetric(id uint32, delta int64) Status { return proxyIncrementMetric(id, delta) }

// RecordMetric sets a gauge, adds to a counter or records in a histogram.
func RecordMetric(id uint32, value uint64) Status { return proxyRecordMetric(id, value) }

// GetMetric reads a counter or a gauge; Envoy has no way to read a histogram.
func GetMetric(id uint32) (uint64, Status) {
	return long(proxyGetMetric(id, &out.long))
}
