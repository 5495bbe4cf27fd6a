// Package link carries commands to Redis and replies back: first in, first out
// over one byte stream, with a deadline a call, reconnection with back-off and
// jitter, and no blocking; or each in an exchange of its own. It does no I/O of its
// own: a Transport or a Caller does.
package link

import (
	"errors"

	"sluice/internal/call"
	"sluice/redisproto"
)

// Errors that a call ends with when no reply came. A command that Send refused
// was not sent. One that Send took may have been carried out by Redis, whatever
// its call ends with.
var (
	ErrTimeout     = errors.New("no reply from Redis in time")
	ErrLost        = errors.New("connection to Redis lost")
	ErrUnavailable = errors.New("not connected to Redis")
	ErrProtocol    = errors.New("reply from Redis is malformed")
	ErrFull        = errors.New("too many calls wait for Redis")
)

// Call is one command's continuation. Exactly one Done comes for each Send that
// returned nil, never during that Send. reply is valid only until Done returns.
// Done may Send.
type Call interface {
	Done(reply redisproto.Value, err error)
}

// Link is a way to Redis. Times are microseconds of one steady clock.
type Link interface {
	// Send writes one command (already encoded) and calls c when its reply
	// comes, its deadline passes or the link breaks. An error means that the
	// command was not sent and c will not be called. cmd isn't kept.
	Send(now int64, cmd []byte, deadline int64, c Call) error
	// Ask sends a call of its script for one request, as Send does, or one for it
	// and others that ask at about the same time; c gets the reply to its own. r isn't
	// kept.
	Ask(now int64, r *call.Request, deadline int64, c Call) error
	// Tick lets deadlines expire and gives up a connection that is stuck. It
	// returns when it wants to be called next, or 0 when nothing is pending.
	Tick(now int64) (next int64)
	// Pending counts calls that wait for a reply, late ones included where their
	// replies are still waited for.
	Pending() int
	// Close ends the link for good. Calls that wait end with ErrLost.
	Close(now int64)
}
