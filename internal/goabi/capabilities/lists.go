package capabilities

// callbacks are what the proxy calls in the plugin.
var callbacks = []Capability{
	{"proxy_on_context_create", "a configuration, or a request, begins"},
	{"proxy_on_configure", "reads the limits"},
	{"proxy_on_tick", "deadlines, heartbeats, reconnects"},
	{"proxy_on_request_headers", "a request is decided"},
	{"proxy_on_request_body", "counts bytes where a limit's cost is body_bytes"},
	{"proxy_on_response_headers", "adds the rate-limit headers; settles by status and header"},
	{"proxy_on_response_body", "settles by what the answer says"},
	{"proxy_on_response_trailers", "settles by a trailer"},
	{"proxy_on_grpc_receive", "replies from Redis"},
	{"proxy_on_grpc_close", "the stream to Redis broke"},
	{"proxy_on_http_call_response", "replies from Redis, with redis.link: http"},
	{"proxy_on_done", "a request ended: settles, frees its slot"},
}

// calls are what the plugin calls in the proxy.
var calls = []Capability{
	{"proxy_log", "says what is wrong"},
	{"proxy_get_current_time_nanoseconds", "deadlines"},
	{"proxy_set_tick_period_milliseconds", "deadlines, while something is pending"},
	{"proxy_set_effective_context", "goes back to the request that a reply is for"},
	{"proxy_get_buffer_bytes", "reads the configuration, replies from Redis and, where a limit asks, bodies"},
	{"proxy_get_header_map_pairs", "reads a request's headers"},
	{"proxy_get_header_map_value", "reads rate-limit headers that the upstream set, and trailers"},
	{"proxy_add_header_map_value", "adds rate-limit headers"},
	{"proxy_replace_header_map_value", "sets rate-limit headers"},
	{"proxy_remove_header_map_value", "takes away a tag header that the caller forged"},
	{"proxy_get_property", "attributes that a limit asks for: addresses, routes, claims, metadata"},
	{"proxy_set_property", "what was decided, for access logs"},
	{"proxy_continue_stream", "lets a held request go on"},
	{"proxy_send_local_response", "rejects a request"},
	{"proxy_grpc_stream", "opens the stream to Redis"},
	{"proxy_grpc_send", "asks Redis"},
	{"proxy_grpc_cancel", "gives a broken stream up"},
	{"proxy_http_call", "asks Redis, with redis.link: http"},
	{"proxy_define_metric", "metrics"},
	{"proxy_increment_metric", "metrics"},
	{"proxy_record_metric", "metrics"},
	{"proxy_get_shared_data", "counters that the workers of a gateway share"},
	{"proxy_set_shared_data", "counters that the workers of a gateway share"},
}

// higress are what the module for Higress has besides.
var higress = []Capability{
	{"proxy_redis_init", "how to log in to Redis"},
	{"proxy_redis_call", "asks Redis, with redis.link: host"},
	{"proxy_on_redis_call_response", "replies from Redis, with redis.link: host"},
}

// wasi are calls of Go's runtime, which mostly ends the plugin when it is refused
// one. args_get isn't among them: Envoy gives a plugin no arguments.
var wasi = []Capability{
	{"args_sizes_get", "Go's runtime starts"},
	{"environ_get", "password_env and hash_secret_env"},
	{"environ_sizes_get", "password_env and hash_secret_env"},
	{"clock_time_get", "Go's runtime starts"},
	{"random_get", "a gateway's own name"},
	{"poll_oneoff", "Go's garbage collector waits for a moment"},
	{"fd_write", "Go's runtime says why it ends"},
	{"proc_exit", "Go's runtime ends"},
}
