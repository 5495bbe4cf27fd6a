// Package grpcmetadata exports proxy_on_grpc_receive_initial_metadata and
// proxy_on_grpc_receive_trailing_metadata. The SDK lacks both: import it and set
// the hooks.
package grpcmetadata
