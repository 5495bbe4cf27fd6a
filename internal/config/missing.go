package config

// Missing says what happens to a request that lacks a part of a limit's key.
type Missing byte

// Policies for absent parts of a key.
const (
	MissingShare Missing = iota // all such requests share a counter
	MissingSkip                 // the limit doesn't apply
	MissingDeny                 // the request is refused
)

func missing() kind[Missing] { return enum[Missing]("share", "skip", "deny") }
