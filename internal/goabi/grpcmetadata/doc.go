// Package grpcmetadata exports proxy_on_grpc_receive_initial_metadata and
// proxy_on_grpc_receive_trailing_metadata. Import it and set the hooks.
package grpcmetadata
