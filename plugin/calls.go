package plugin

import (
	"errors"
	"strconv"

	"sluice/internal/config"
	"sluice/internal/host"
	"sluice/internal/link"
)

// callLink is a configuration's link of exchanges. HTTP calls and Redis calls have
// tokens of their own.
type callLink struct {
	w    *worker
	kind config.Link
	link *link.Calls
}

// owner finds whose exchange a token is; nil for nobody's.
func (vm *VM) owner(kind config.Link, token uint32) *link.Calls {
	for i := range vm.calls {
		if c := &vm.calls[i]; c.kind == kind && c.link.Owns(token) {
			return c.link
		}
	}
	return nil
}

// forgetCalls is for a configuration that ended.
func (vm *VM) forgetCalls(w *worker) {
	var left []callLink
	for _, c := range vm.calls {
		if c.w != w {
			left = append(left, c)
		}
	}
	vm.calls = left
}

// canLink reports whether the proxy can do what redis.link asks for, and says why
// it can't.
func (w *worker) canLink() bool {
	// No cluster has this name, so that nothing changes where there are Redis calls.
	if w.policy.Redis.Link != config.HostLink || w.host.RedisInit("", "", "", 0) != host.Unimplemented {
		return true
	}
	w.metrics.configErrors.add(1)
	w.host.Log(host.Error, "sluice: configuration: "+w.path+"redis.link: host needs Higress and the plugin that is built for it, sluice-higress.wasm; say link: pipe")
	return false
}

// httpCaller makes an HTTP call of each exchange, to a cluster that turns it into
// bytes on a TCP connection.
type httpCaller struct {
	w       *worker
	headers []byte
}

func (w *worker) newHTTPLink(o link.Options) link.Link {
	h := &httpCaller{w: w, headers: host.AppendPairs(nil, [][2]string{
		{":method", "POST"}, {":path", "/"}, {":authority", w.policy.Redis.Cluster},
	})}
	l := link.NewCalls(h, o)
	w.vm.calls = append(w.vm.calls, callLink{w, config.HTTPLink, l})
	return l
}

// Call is link.Caller.
func (h *httpCaller) Call(body []byte, timeout int64) (uint32, error) {
	token, s := h.w.host.HTTPCall(h.w.policy.Redis.Cluster, h.headers, body, milliseconds(timeout))
	return token, callError(s)
}

// milliseconds rounds microseconds up.
func milliseconds(us int64) uint32 { return uint32((us + 999) / 1000) }

// HTTPAnswered takes the answer to an HTTP call; headers and size are 0 when none
// came. It reports whether the call was one of ours.
func (vm *VM) HTTPAnswered(token uint32, headers, size int) bool {
	l := vm.owner(config.HTTPLink, token)
	if l == nil {
		return false
	}
	now := vm.host.Steady()
	status := ""
	if headers > 0 {
		status, _ = vm.host.HeaderValue(host.HTTPAnswerHeaders, ":status")
	}
	switch status {
	case "200": // which the proxy makes up as soon as it is connected
		b, s := vm.host.HTTPAnswer(size)
		if s != host.OK {
			b = nil
		}
		l.Answered(now, token, b)
	case "":
		l.Failed(now, token, link.PeerClosed, "reset", link.ErrLost)
	case "504":
		l.Failed(now, token, link.Stalled, "the proxy's timeout", link.ErrTimeout)
	default:
		// The proxy's own word: it has no connection, and nothing was sent.
		l.Failed(now, token, link.OpenFailed, "the proxy answered "+status, link.ErrUnavailable)
	}
	return true
}

// hostCaller makes a Redis call of the proxy's, as Higress has them, of each
// exchange. The proxy logs in, on connections that all its plugins share.
type hostCaller struct {
	w        *worker
	username string
	password string
	db       int
}

func (w *worker) newHostLink(o link.Options) link.Link {
	h := &hostCaller{w: w, username: o.Username, password: o.Password, db: o.DB}
	l := link.NewCalls(h, o)
	w.vm.calls = append(w.vm.calls, callLink{w, config.HostLink, l})
	return l
}

// stallMS is how much later than the plugin's own timeout the proxy gives up a
// connection that owes a reply: it fails all that waits on it, other plugins' calls
// too.
const stallMS = 1000

// Login is link.Authenticator.
func (h *hostCaller) Login() error {
	// Without the first, commands wait up to 3 ms for others to join them.
	parameters := "?buffer_flush_timeout=0"
	if h.db != 0 {
		parameters += "&db=" + strconv.Itoa(h.db)
	}
	r := &h.w.policy.Redis
	return callError(h.w.host.RedisInit(r.Cluster+parameters, h.username, h.password, milliseconds(r.TimeoutUS)+stallMS))
}

// Call is link.Caller. The proxy's timeout is one for all calls.
func (h *hostCaller) Call(body []byte, _ int64) (uint32, error) {
	token, s := h.w.host.RedisCall(h.w.policy.Redis.Cluster, body)
	return token, callError(s)
}

// RedisReplied takes the reply to a Redis call; status 0 says that there is one.
func (vm *VM) RedisReplied(token, status uint32, size int) {
	l := vm.owner(config.HostLink, token)
	if l == nil {
		return
	}
	now := vm.host.Steady()
	if status != 0 {
		l.Failed(now, token, link.PeerClosed, "connection lost, or timed out", link.ErrLost)
		return
	}
	b, s := vm.host.RedisReply(size)
	if s != host.OK {
		b = nil
	}
	l.Answered(now, token, b)
}

// callError is why a call can't be made.
func callError(s host.Status) error {
	switch s {
	case host.OK:
		return nil
	case host.BadArgument:
		return errNoCluster
	case host.InternalFailure:
		return errNoHost
	}
	return link.ErrUnavailable
}

var (
	errNoCluster = errors.New("the proxy knows no such cluster")
	errNoHost    = errors.New("the cluster has no host")
)
