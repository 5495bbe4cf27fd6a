//go:build wasip1

package goabi

import "unsafe"

// Log writes a line to the host's log; levels are numbered as in package host.
func Log(level uint32, msg string) Status { return proxyLog(level, msg) }

// GetLogLevel returns the lowest level that the host writes.
func GetLogLevel() (uint32, Status) {
	return word(proxyGetLogLevel(&out.word))
}

// GetCurrentTimeNanoseconds returns the host's clock: nanoseconds since the
// Unix epoch.
func GetCurrentTimeNanoseconds() (uint64, Status) {
	return long(proxyGetCurrentTimeNanoseconds(&out.long))
}

// MonotonicTimeNanoseconds returns a clock that never steps: nanoseconds since
// some start.
func MonotonicTimeNanoseconds() (uint64, Status) {
	const monotonic = 1
	s := OK
	if clockTimeGet(monotonic, 1, &out.long) != 0 {
		s = InternalFailure
	}
	return long(s)
}

// SetTickPeriodMilliseconds asks for proxy_on_tick on the root context; 0 stops
// it.
func SetTickPeriodMilliseconds(ms uint32) Status { return proxySetTickPeriodMilliseconds(ms) }

// Done ends a root context that answered proxy_on_done with no.
func Done() Status { return proxyDone() }

// CallForeignFunction calls a function that the host's own build registered.
func CallForeignFunction(name string, arg []byte) ([]byte, Status) {
	return take(proxyCallForeignFunction(name, text(arg), &out.ptr, &out.size))
}

// RandomGet fills b from the host's random source. InternalFailure: the host
// has none, and b's content is undefined.
func RandomGet(b []byte) Status {
	// Hosts refuse more than 64 KiB a call.
	const most = 64 << 10
	for len(b) > 0 {
		n := min(len(b), most)
		if randomGet(unsafe.SliceData(b), uint32(n)) != 0 {
			return InternalFailure
		}
		b = b[n:]
	}
	return OK
}
