package link

// Transport is a byte stream to Redis, as a Pipe uses it. The one who owns it
// passes what comes in to Pipe.Received and Pipe.Closed.
type Transport interface {
	// Open starts a connection and returns its token, which no earlier
	// connection had. It doesn't wait: a connection that can't be made is closed
	// later, or fails here at once.
	Open() (conn uint32, err error)
	// Send queues p, which isn't kept. An error means that the connection is of
	// no use any more.
	Send(conn uint32, p []byte) error
	// Close ends a connection. It is called exactly once for each that Open
	// returned, those of which Pipe.Closed told included; nothing is sent on it
	// afterwards.
	Close(conn uint32)
}

// Reason is why a connection ended.
type Reason uint8

// Every Reason.
const (
	OpenFailed Reason = iota + 1 // Transport.Open failed
	SendFailed                   // Transport.Send failed
	PeerClosed                   // Pipe.Closed was called
	Stalled                      // a reply is Options.StallAfter overdue
	Malformed                    // what came isn't RESP2, or answers no command
	Refused                      // Redis refused AUTH or SELECT
	ReadOnly                     // Redis answered READONLY, with Options.LeaveReadOnly
	ShutDown                     // Pipe.Close was called
)

var reasonNames = [...]string{
	OpenFailed: "open failed",
	SendFailed: "send failed",
	PeerClosed: "closed by peer",
	Stalled:    "stalled",
	Malformed:  "malformed reply",
	Refused:    "refused by Redis",
	ReadOnly:   "no longer the master",
	ShutDown:   "shut down",
}

// String names r in a log line.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasonNames) {
		return "unknown"
	}
	return reasonNames[r]
}

// Observer is told what happens to a link's connections, for logs and metrics.
// Its methods may be called from within any of the link's and must not call
// back into it.
type Observer interface {
	// Connected: Redis answered on a new connection, and accepted AUTH and SELECT
	// where they are used. n counts these connections, from 1: those above 1
	// are reconnections.
	Connected(now int64, n uint64)
	// Lost: a connection ended, or could not be opened. It comes once for each
	// attempt. detail may be empty and never holds a password. Log it at a
	// limited rate.
	Lost(now int64, r Reason, detail string)
	// HandshakeFailed comes before the Lost of reason Refused.
	HandshakeFailed(now int64, e *HandshakeError)
	// Late: a reply came after its call had timed out, and was dropped.
	Late(now int64)
}

type noObserver struct{}

func (noObserver) Connected(int64, uint64)                {}
func (noObserver) Lost(int64, Reason, string)             {}
func (noObserver) HandshakeFailed(int64, *HandshakeError) {}
func (noObserver) Late(int64)                             {}
