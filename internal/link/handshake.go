package link

import (
	"bytes"

	"sluice/redisproto"
)

// HandshakeError is why Redis refused what a Pipe sends first on a connection.
// It never holds the user's name or password. It is an ErrUnavailable.
type HandshakeError struct {
	Command string // AUTH or SELECT
	Code    string // one of redisproto's codes
	Detail  string // what it means, where that is known
}

// Error implements error.
func (e *HandshakeError) Error() string {
	s := "Redis refused " + e.Command + ": " + e.Code
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap makes a HandshakeError an ErrUnavailable.
func (e *HandshakeError) Unwrap() error { return ErrUnavailable }

// handshake is the commands that come first on each connection. Their replies
// are awaited in order but nothing waits for them before it is sent: where Redis
// refuses one, it may still carry out commands that follow it, as the default
// user or in database 0. Their calls end with the refusal.
type handshake struct {
	bytes []byte   // encoded
	names []string // of the commands, in order
}

func newHandshake(o *Options) handshake {
	var h handshake
	switch {
	case o.Username != "":
		h.bytes = redisproto.AppendCommand(h.bytes, "AUTH", o.Username, o.Password)
		h.names = append(h.names, "AUTH")
	case o.Password != "":
		h.bytes = redisproto.AppendCommand(h.bytes, "AUTH", o.Password)
		h.names = append(h.names, "AUTH")
	}
	if o.DB != 0 {
		h.bytes = redisproto.AppendArray(h.bytes, 2)
		h.bytes = redisproto.AppendBulkString(h.bytes, "SELECT")
		h.bytes = redisproto.AppendBulkInt(h.bytes, int64(o.DB))
		h.names = append(h.names, "SELECT")
	}
	return h
}

// refusal explains an error reply to the handshake's command name. The text of
// a reply to AUTH is never passed on: Redis quotes the arguments of a command
// that it doesn't know.
func refusal(name string, reply redisproto.Value) *HandshakeError {
	e := &HandshakeError{Command: name, Code: reply.ErrorCode()}
	if name != "AUTH" {
		e.Detail = printable(bytes.TrimPrefix(reply.Str, []byte(e.Code+" ")))
		return e
	}
	switch {
	case e.Code == redisproto.CodeWrongPass:
		e.Detail = "wrong user name or password, or the user is disabled"
	case bytes.Contains(reply.Str, []byte("without any password configured")),
		bytes.Contains(reply.Str, []byte("no password is set")):
		e.Detail = "this Redis has no password set, but one is configured here"
	case bytes.Contains(reply.Str, []byte("invalid password")):
		e.Detail = "wrong password"
	case bytes.Contains(reply.Str, []byte("wrong number of arguments")):
		e.Detail = "this Redis is too old for user names (they came with 6)"
	case bytes.Contains(reply.Str, []byte("max number of clients")):
		e.Detail = "this Redis has as many clients as it allows"
	}
	return e
}

// printable makes a bounded line of text out of what a peer sent.
func printable(b []byte) string {
	const most = 120
	s := make([]byte, 0, min(len(b), most))
	for _, c := range b[:min(len(b), most)] {
		if c < ' ' || c > '~' {
			c = '?'
		}
		s = append(s, c)
	}
	return string(s)
}
