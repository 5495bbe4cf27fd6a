//go:build wasip1

package grpcmetadata

import "sluice/internal/goabi"

// The header maps that hold the metadata, during their callbacks only.
const (
	MapInitial  uint32 = 4
	MapTrailing uint32 = 5
)

// Both hooks get the root context, the stream's token and the number of fields.
var (
	OnInitial  func(rootID, token, n uint32)
	OnTrailing func(rootID, token, n uint32)
)

//go:wasmexport proxy_on_grpc_receive_initial_metadata
func onInitial(rootID, token, n uint32) {
	defer goabi.Recover("proxy_on_grpc_receive_initial_metadata", rootID, nil)
	if OnInitial != nil {
		OnInitial(rootID, token, n)
	}
}

//go:wasmexport proxy_on_grpc_receive_trailing_metadata
func onTrailing(rootID, token, n uint32) {
	defer goabi.Recover("proxy_on_grpc_receive_trailing_metadata", rootID, nil)
	if OnTrailing != nil {
		OnTrailing(rootID, token, n)
	}
}
