//go:build wasip1

package goabi

import "unsafe"

// Getenv returns an environment variable that the host passes to the module, and
// whether it does. It reads all of them each time: package syscall would keep them,
// for 10 kB of code.
func Getenv(name string) (string, bool) {
	if environSizesGet(&out.word, &out.size) != 0 {
		out.word, out.size = 0, 0
		return "", false
	}
	count, size := out.word, out.size
	out.word, out.size = 0, 0
	if count == 0 || size == 0 || count > MaxValue/4 || size > MaxValue {
		return "", false
	}
	// The host writes where each variable begins, and then all of them: NAME=value,
	// each with a zero byte behind it. Where they begin shows from these, too.
	places, all := make([]uint32, count), make([]byte, size)
	if environGet(unsafe.SliceData(places), unsafe.SliceData(all)) != 0 {
		return "", false
	}
	v, ok := lookup(text(all), name)
	return string([]byte(v)), ok // without the others
}
