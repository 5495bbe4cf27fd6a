//go:build wasip1

package host

import "sluice/internal/goabi"

// Wasm is the proxy that this module runs in. It allocates nothing besides what
// it returns.
type Wasm struct{}

var _ Host = Wasm{}

func (Wasm) Log(l Level, msg string) { goabi.Log(uint32(l), msg) }

func (Wasm) Now() int64 {
	ns, _ := goabi.GetCurrentTimeNanoseconds()
	return int64(ns / 1000)
}

func (Wasm) Steady() int64 {
	ns, _ := goabi.MonotonicTimeNanoseconds()
	return int64(ns / 1000)
}

func (Wasm) PluginConfiguration() ([]byte, Status) {
	b, s := goabi.GetBufferBytes(goabi.BufferPluginConfiguration, 0, goabi.MaxValue)
	return b, Status(s)
}

func (Wasm) Env(name string) string {
	v, _ := goabi.Getenv(name)
	return v
}

func (Wasm) Random(b []byte) { goabi.RandomGet(b) }

func (Wasm) HeaderPairs(m Map) ([]byte, Status) {
	b, s := goabi.GetHeaderMapPairs(uint32(m))
	return b, Status(s)
}

func (Wasm) HeaderValue(m Map, name string) (string, Status) {
	v, s := goabi.GetHeaderMapValue(uint32(m), name)
	return v, Status(s)
}

func (Wasm) AddHeader(m Map, name, value string) Status {
	return Status(goabi.AddHeaderMapValue(uint32(m), name, value))
}

func (Wasm) ReplaceHeader(m Map, name, value string) Status {
	return Status(goabi.ReplaceHeaderMapValue(uint32(m), name, value))
}

func (Wasm) RemoveHeader(m Map, name string) Status {
	return Status(goabi.RemoveHeaderMapValue(uint32(m), name))
}

func (Wasm) Property(path string) ([]byte, Status) {
	b, s := goabi.GetProperty(path)
	return b, Status(s)
}

func (Wasm) SetProperty(name string, value []byte) Status {
	return Status(goabi.SetProperty(name, value))
}

func (Wasm) BodyBytes(b Buffer, start, max int) ([]byte, Status) {
	if start < 0 || max < 0 || start > goabi.MaxValue {
		return nil, BadArgument
	}
	v, s := goabi.GetBufferBytes(uint32(b), uint32(start), uint32(min(max, goabi.MaxValue)))
	return v, Status(s)
}

func (Wasm) Resume(d Direction) Status { return Status(goabi.ContinueStream(uint32(d))) }

func (Wasm) Answer(code uint32, details string, body []byte, headers []byte, grpcStatus int32) Status {
	return Status(goabi.SendLocalResponse(code, details, body, headers, grpcStatus))
}

func (Wasm) SetEffectiveContext(id uint32) Status { return Status(goabi.SetEffectiveContext(id)) }

func (Wasm) SetTick(ms uint32) Status { return Status(goabi.SetTickPeriodMilliseconds(ms)) }

func (Wasm) DefineMetric(t MetricType, name string) (uint32, Status) {
	id, s := goabi.DefineMetric(uint32(t), name)
	return id, Status(s)
}

func (Wasm) IncrementMetric(id uint32, delta int64) Status {
	return Status(goabi.IncrementMetric(id, delta))
}

func (Wasm) RecordMetric(id uint32, value uint64) Status {
	return Status(goabi.RecordMetric(id, value))
}

func (Wasm) SharedData(key string) (value []byte, cas uint32, s Status) {
	value, cas, st := goabi.GetSharedData(key)
	return value, cas, Status(st)
}

func (Wasm) SetSharedData(key string, value []byte, cas uint32) Status {
	return Status(goabi.SetSharedData(key, value, cas))
}

func (Wasm) OpenStream(cluster, service, method string) (token uint32, s Status) {
	token, st := goabi.GrpcStream(appendGrpcService(nil, cluster), service, method, nil)
	return token, Status(st)
}

func (Wasm) SendStream(token uint32, msg []byte) Status {
	return Status(goabi.GrpcSend(token, msg, false))
}

func (Wasm) CancelStream(token uint32) Status { return Status(goabi.GrpcCancel(token)) }

func (Wasm) StreamMessage(n int) ([]byte, Status) {
	if n < 0 || n > goabi.MaxValue {
		return nil, BadArgument
	}
	b, s := goabi.GrpcMessage(uint32(n))
	return b, Status(s)
}

func (Wasm) HTTPCall(cluster string, headers, body []byte, timeoutMS uint32) (token uint32, s Status) {
	token, st := goabi.HTTPCall(cluster, headers, body, nil, timeoutMS)
	return token, Status(st)
}

func (Wasm) HTTPAnswer(n int) ([]byte, Status) {
	return Wasm{}.announced(goabi.BufferHTTPCallResponseBody, n)
}

// announced reads a buffer of n bytes, as a callback said.
func (Wasm) announced(buffer uint32, n int) ([]byte, Status) {
	if n < 0 || n > goabi.MaxValue {
		return nil, BadArgument
	}
	b, s := goabi.GetBufferBytes(buffer, 0, uint32(n))
	return b, Status(s)
}
