//go:build !wasip1

package sdkhost

import (
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// Host talks to the proxytest emulator that is current. The zero value is ready.
type Host struct {
	// Clock, if set, is used for Now and Steady: microseconds.
	Clock func() int64
	// Environ, if not nil, is used instead of the process's environment.
	Environ map[string]string
	Streams hosttest.Streams
}

var _ host.Host = (*Host)(nil)

var start = time.Now()

func (h *Host) Log(l host.Level, msg string) {
	msg = strings.Clone(msg)
	proxyLog(uint32(l), ptr(msg), len(msg))
}

func (h *Host) Now() int64 {
	if h.Clock != nil {
		return h.Clock()
	}
	return time.Now().UnixMicro()
}

func (h *Host) Steady() int64 {
	if h.Clock != nil {
		return h.Clock()
	}
	return time.Since(start).Microseconds()
}

func (h *Host) PluginConfiguration() ([]byte, host.Status) {
	const pluginConfiguration = 7
	b, s := buffer(pluginConfiguration, 0, 1<<31-1)
	if s == host.NotFound { // how proxytest says that it is empty
		return nil, host.OK
	}
	return b, s
}

func (h *Host) Env(name string) string {
	if h.Environ != nil {
		return h.Environ[name]
	}
	return os.Getenv(name)
}

func (h *Host) Random(b []byte) { _, _ = rand.Read(b) } // never fails

func (h *Host) HeaderPairs(m host.Map) ([]byte, host.Status) {
	return result(func(data **byte, size *int) uint32 {
		return proxyGetHeaderMapPairs(uint32(m), data, size)
	})
}

// HeaderValue finds the value in the whole map, because proxytest can't return
// an empty value alone.
func (h *Host) HeaderValue(m host.Map, name string) (string, host.Status) {
	b, s := h.HeaderPairs(m)
	if s != host.OK {
		return "", s
	}
	v, ok := host.NewHeaders(b).First(name)
	if !ok {
		return "", host.NotFound
	}
	return v, host.OK
}

// proxytest keeps views of what it is given, hence the clones from here on.

func (h *Host) AddHeader(m host.Map, name, value string) host.Status {
	name, value = strings.Clone(name), strings.Clone(value)
	return host.Status(proxyAddHeaderMapValue(uint32(m), ptr(name), len(name), ptr(value), len(value)))
}

func (h *Host) ReplaceHeader(m host.Map, name, value string) host.Status {
	name, value = strings.Clone(name), strings.Clone(value)
	return host.Status(proxyReplaceHeaderMapValue(uint32(m), ptr(name), len(name), ptr(value), len(value)))
}

func (h *Host) RemoveHeader(m host.Map, name string) host.Status {
	return host.Status(proxyRemoveHeaderMapValue(uint32(m), ptr(name), len(name)))
}

func (h *Host) Property(path string) ([]byte, host.Status) {
	return result(func(data **byte, size *int) uint32 {
		return proxyGetProperty(ptr(path), len(path), data, size)
	})
}

func (h *Host) SetProperty(name string, value []byte) host.Status {
	name, value = strings.Clone(name), slices.Clone(value)
	return host.Status(proxySetProperty(ptr(name), len(name), first(value), len(value)))
}

func (h *Host) BodyBytes(b host.Buffer, start, max int) ([]byte, host.Status) {
	if start < 0 || max < 0 {
		return nil, host.BadArgument
	}
	return buffer(uint32(b), start, max)
}

func (h *Host) Resume(d host.Direction) host.Status {
	return host.Status(proxyContinueStream(uint32(d)))
}

func (h *Host) Answer(code uint32, details string, body []byte, headers []byte, grpcStatus int32) host.Status {
	details, body, headers = strings.Clone(details), slices.Clone(body), slices.Clone(headers)
	if len(headers) == 0 { // proxytest needs a map
		headers = host.AppendPairs(nil, nil)
	}
	return host.Status(proxySendLocalResponse(code, ptr(details), len(details), first(body), len(body), first(headers), len(headers), grpcStatus))
}

func (h *Host) SetEffectiveContext(id uint32) host.Status {
	return host.Status(proxySetEffectiveContext(id))
}

func (h *Host) SetTick(ms uint32) host.Status {
	return host.Status(proxySetTickPeriodMilliseconds(ms))
}

func (h *Host) DefineMetric(t host.MetricType, name string) (id uint32, s host.Status) {
	name = strings.Clone(name)
	s = host.Status(proxyDefineMetric(uint32(t), ptr(name), len(name), &id))
	return id, s
}

func (h *Host) IncrementMetric(id uint32, delta int64) host.Status {
	return host.Status(proxyIncrementMetric(id, delta))
}

func (h *Host) RecordMetric(id uint32, value uint64) host.Status {
	return host.Status(proxyRecordMetric(id, value))
}

func (h *Host) SharedData(key string) (value []byte, cas uint32, s host.Status) {
	value, s = result(func(data **byte, size *int) uint32 {
		return proxyGetSharedData(ptr(key), len(key), data, size, &cas)
	})
	return value, cas, s
}

func (h *Host) SetSharedData(key string, value []byte, cas uint32) host.Status {
	return host.Status(proxySetSharedData(ptr(key), len(key), first(value), len(value), cas))
}

func (h *Host) OpenStream(cluster, service, method string) (uint32, host.Status) {
	return h.Streams.OpenStream(cluster, service, method)
}

func (h *Host) SendStream(token uint32, msg []byte) host.Status {
	return h.Streams.SendStream(token, msg)
}

func (h *Host) CancelStream(token uint32) host.Status { return h.Streams.CancelStream(token) }

func (h *Host) StreamMessage(n int) ([]byte, host.Status) { return h.Streams.StreamMessage(n) }

func (h *Host) HTTPCall(cluster string, headers, body []byte, timeoutMS uint32) (token uint32, s host.Status) {
	cluster, headers, body = strings.Clone(cluster), slices.Clone(headers), slices.Clone(body)
	if len(headers) == 0 {
		headers = host.AppendPairs(nil, nil)
	}
	trailers := host.AppendPairs(nil, nil)
	s = host.Status(proxyHTTPCall(ptr(cluster), len(cluster), first(headers), len(headers), first(body), len(body), first(trailers), len(trailers), timeoutMS, &token))
	return token, s
}

func (h *Host) HTTPAnswer(n int) ([]byte, host.Status) {
	const answer = 4
	return buffer(answer, 0, n)
}

// The SDK knows no Redis calls.

func (h *Host) RedisInit(_, _, _ string, _ uint32) host.Status { return host.Unimplemented }

func (h *Host) RedisCall(string, []byte) (token uint32, s host.Status) { return 0, host.Unimplemented }

func (h *Host) RedisReply(int) ([]byte, host.Status) { return nil, host.Unimplemented }
