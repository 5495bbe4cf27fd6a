//go:build wasip1

package goabi

// OnPanic is told of every panic that an exported callback recovers from: the
// callback's exported name, its first argument (a context, root or stream) and
// the panic's value. What it returns is the callback's answer where that is an
// action; a start or a configuration that panics has failed, and a context that
// panics in proxy_on_done is done. A panic of OnPanic itself is swallowed and
// counts as Continue. Without it, a panic is logged and the request goes on.
//
// The host's effective context is what it was when the panic rose.
var OnPanic func(callback string, contextID uint32, v any) Action

// Recover is deferred by every exported callback, here and in the packages
// below. action, if not nil, receives the answer after a panic.
func Recover(callback string, contextID uint32, action *uint32) {
	v := recover()
	if v == nil {
		return
	}
	a := panicked(callback, contextID, v)
	if action != nil {
		*action = uint32(a)
	}
}

func panicked(callback string, contextID uint32, v any) (a Action) {
	defer func() {
		if recover() != nil {
			a = Continue
		}
	}()
	if OnPanic == nil {
		const critical = 5
		Log(critical, "panic in "+callback+": "+describe(v))
		return Continue
	}
	return OnPanic(callback, contextID, v)
}

// describe prints the usual kinds of panic values without package fmt.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case error:
		return v.Error()
	}
	return "a value that is no text"
}
