package host

import "encoding/binary"

// appendGrpcService appends an envoy.config.core.v3.GrpcService message that
// names a cluster: field 1 (envoy_grpc) holding field 1 (cluster_name). A bare
// cluster name would do as well unless it happened to parse as a message.
func appendGrpcService(dst []byte, cluster string) []byte {
	const field1 = 1<<3 | 2
	inner := 1 + varintLen(len(cluster)) + len(cluster)
	dst = append(dst, field1)
	dst = binary.AppendUvarint(dst, uint64(inner))
	dst = append(dst, field1)
	dst = binary.AppendUvarint(dst, uint64(len(cluster)))
	return append(dst, cluster...)
}

func varintLen(n int) int {
	l := 1
	for n >= 0x80 {
		n >>= 7
		l++
	}
	return l
}
