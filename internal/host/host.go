// Package host is what the plugin asks of the proxy it runs in: an interface,
// its proxy-wasm side and its test double. Strings and slices that come back
// are the caller's; what goes in isn't kept.
package host

// Status is a proxy-wasm host call's result; 0 is success.
type Status uint32

// Results that the plugin tells apart.
const (
	OK          Status = 0
	NotFound    Status = 1
	BadArgument Status = 2 // set_effective_context: the context is gone
	CasMismatch Status = 8
	Empty       Status = 7
	// InternalFailure: an HTTP call or a Redis call had nowhere to go.
	InternalFailure Status = 10
	// Unimplemented: this host, or the module made for it, has no such call.
	Unimplemented Status = 12
)

// Level is a log level as proxy-wasm numbers them.
type Level uint32

const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
	Critical
)

// Map names a header map as proxy-wasm numbers them.
type Map uint32

const (
	RequestHeaders   Map = 0
	RequestTrailers  Map = 1
	ResponseHeaders  Map = 2
	ResponseTrailers Map = 3
	// HTTPAnswerHeaders are an HTTP call's, while its answer is delivered.
	HTTPAnswerHeaders Map = 6
)

// Buffer names a body buffer as proxy-wasm numbers them.
type Buffer uint32

const (
	RequestBody  Buffer = 0
	ResponseBody Buffer = 1
)

// Direction names one half of a stream.
type Direction uint32

const (
	Request  Direction = 0
	Response Direction = 1
)

// MetricType as proxy-wasm numbers them.
type MetricType uint32

const (
	Counter   MetricType = 0
	Gauge     MetricType = 1
	Histogram MetricType = 2
)

// Host is one worker's proxy. Calls on a request act on the effective context:
// the request whose callback is running, or the one set last.
type Host interface {
	Log(l Level, msg string)
	// Now is the gateway's wall clock: microseconds since the Unix epoch.
	Now() int64
	// Steady is a clock that never steps: microseconds since some start. Each
	// of the two costs exactly one host call.
	Steady() int64
	PluginConfiguration() ([]byte, Status)
	Env(name string) string
	// Random fills b.
	Random(b []byte)

	// HeaderPairs returns a whole map as proxy-wasm serialises it; see Pairs.
	HeaderPairs(m Map) ([]byte, Status)
	HeaderValue(m Map, name string) (string, Status)
	AddHeader(m Map, name, value string) Status
	ReplaceHeader(m Map, name, value string) Status
	RemoveHeader(m Map, name string) Status
	// Property reads an attribute; path's elements are joined by NUL.
	Property(path string) ([]byte, Status)
	// SetProperty writes filter state wasm.<name>.
	SetProperty(name string, value []byte) Status
	BodyBytes(b Buffer, start, max int) ([]byte, Status)

	// Resume lets a paused half go on.
	Resume(d Direction) Status
	// Answer ends the request here. headers is a serialised map (AppendPairs);
	// grpcStatus -1 for none. details become response code details.
	Answer(code uint32, details string, body []byte, headers []byte, grpcStatus int32) Status
	SetEffectiveContext(id uint32) Status
	// SetTick asks for on_tick every ms milliseconds; 0 stops it.
	SetTick(ms uint32) Status

	DefineMetric(t MetricType, name string) (uint32, Status)
	IncrementMetric(id uint32, delta int64) Status
	RecordMetric(id uint32, value uint64) Status

	SharedData(key string) (value []byte, cas uint32, s Status)
	SetSharedData(key string, value []byte, cas uint32) Status

	// OpenStream starts a gRPC stream to a cluster; its messages come through
	// the OnStreamMessage and OnStreamClose hooks of the embedder.
	OpenStream(cluster, service, method string) (token uint32, s Status)
	SendStream(token uint32, msg []byte) Status
	// CancelStream ends a stream; its token must not be used again.
	CancelStream(token uint32) Status
	// StreamMessage reads the message of n bytes that a callback announced.
	StreamMessage(n int) ([]byte, Status)

	// HTTPCall starts one HTTP request to a cluster. headers is a serialised map.
	// Its answer comes through the embedder's hook.
	HTTPCall(cluster string, headers, body []byte, timeoutMS uint32) (token uint32, s Status)
	// HTTPAnswer reads the body of n bytes that a callback announced.
	HTTPAnswer(n int) ([]byte, Status)

	// Redis calls are Higress's: elsewhere, and in the module for other proxies,
	// they are Unimplemented.

	// RedisInit says how to log in to a cluster's Redis; cluster may carry
	// parameters, as in name?db=1. It opens no connection.
	RedisInit(cluster, username, password string, timeoutMS uint32) Status
	// RedisCall sends one encoded command, which must not be empty. Its reply comes
	// through the embedder's hook.
	RedisCall(cluster string, command []byte) (token uint32, s Status)
	// RedisReply reads the reply of n bytes that a callback announced.
	RedisReply(n int) ([]byte, Status)
}
