//go:build !faults

package plugin

// faultPoint names a callback in which a test build panics on request.
type faultPoint string

const (
	faultRequest  faultPoint = "request"
	faultReply    faultPoint = "reply"
	faultResponse faultPoint = "response"
)

// fault does nothing in a release.
func fault(*request, faultPoint) {}
