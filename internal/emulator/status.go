package emulator

// status is a host call's result.
type status uint32

const (
	ok                  status = 0
	notFound            status = 1
	badArgument         status = 2
	parseFailure        status = 4
	invalidMemoryAccess status = 6
	empty               status = 7
	casMismatch         status = 8
	internalFailure     status = 10
	brokenConnection    status = 11
	unimplemented       status = 12
)

// gRPC statuses that the proxy itself closes streams with.
const (
	grpcInternal    = 13
	grpcUnavailable = 14
)
