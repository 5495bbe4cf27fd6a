package hosttest

import (
	"slices"

	"sluice/internal/host"
)

// Redis are Higress's Redis calls that the plugin made.
type Redis struct {
	// Absent makes the host one without such calls.
	Absent bool
	// RefuseInit and RefuseCall, if not OK, are what they answer.
	RefuseInit, RefuseCall host.Status
	Inits                  []RedisInit
	Made                   []RedisCall

	reply []byte
}

// RedisInit is one RedisInit.
type RedisInit struct {
	Cluster, Username, Password string
	TimeoutMS                   uint32
}

// RedisCall is one RedisCall.
type RedisCall struct {
	Token   uint32
	Cluster string
	Command []byte
}

// Reply hands a reply to the plugin; a nil one is none: status 1.
func (h *Host) Reply(hook func(token, status uint32, n int), token uint32, reply []byte) {
	was := h.effective
	h.effective = RootID
	h.Redis.reply = reply
	defer func() { h.Redis.reply, h.effective = nil, was }()
	if reply == nil {
		hook(token, 1, 0)
		return
	}
	hook(token, 0, len(reply))
}

func (h *Host) RedisInit(cluster, username, password string, timeoutMS uint32) host.Status {
	h.Calls["RedisInit"]++
	if h.Redis.Absent {
		return host.Unimplemented
	}
	h.Redis.Inits = append(h.Redis.Inits, RedisInit{
		string([]byte(cluster)), string([]byte(username)), string([]byte(password)), timeoutMS,
	})
	return h.Redis.RefuseInit
}

func (h *Host) RedisCall(cluster string, command []byte) (uint32, host.Status) {
	h.Calls["RedisCall"]++
	switch {
	case h.Redis.Absent:
		return 0, host.Unimplemented
	case len(command) == 0:
		panic("an empty command ends the proxy")
	case h.Redis.RefuseCall != host.OK:
		return 0, h.Redis.RefuseCall
	}
	c := RedisCall{uint32(len(h.Redis.Made) + 1), string([]byte(cluster)), slices.Clone(command)}
	h.Redis.Made = append(h.Redis.Made, c)
	return c.Token, host.OK
}

func (h *Host) RedisReply(n int) ([]byte, host.Status) {
	h.Calls["RedisReply"]++
	return slices.Clone(h.Redis.reply[:min(n, len(h.Redis.reply))]), host.OK
}
