//go:build faults

package plugin

// faultPoint names a callback in which this test build panics on request.
type faultPoint string

const (
	faultRequest  faultPoint = "request"
	faultReply    faultPoint = "reply"
	faultResponse faultPoint = "response"
)

// fault panics when the request's x-sluice-fault header names the point.
func fault(r *request, at faultPoint) {
	if v, _ := r.headers.Get("x-sluice-fault"); v == string(at) {
		panic("asked for by x-sluice-fault")
	}
}
