package emulator

import "encoding/binary"

var calloutCalls = []hostCall{
	{"proxy_http_call", "iiiiiiiiii", (*VM).httpCall},
	{"proxy_grpc_call", "iiiiiiiiiiii", (*VM).grpcCall},
	{"proxy_grpc_stream", "iiiiiiiii", (*VM).grpcStream},
	{"proxy_grpc_send", "iiii", (*VM).grpcSend},
	{"proxy_grpc_cancel", "i", (*VM).grpcCancel},
	{"proxy_grpc_close", "i", (*VM).grpcClose},
	{"proxy_get_status", "iii", (*VM).getStatus},
}

// Kinds of callouts; a token's last two bits say its kind.
const (
	calloutHTTP   = 0
	calloutCall   = 1
	calloutStream = 2
	calloutMask   = 3
	calloutStep   = 4
)

func nextToken(last *uint32, kind uint32) uint32 {
	if *last == 0 {
		*last = kind
	}
	*last += calloutStep
	return *last
}

func (vm *VM) httpCall(a []uint64) status {
	cluster, ok1 := vm.text(a[0], a[1])
	headers, ok2 := vm.bytes(a[2], a[3])
	body, ok3 := vm.bytes(a[4], a[5])
	trailers, ok4 := vm.bytes(a[6], a[7])
	if !ok1 || !ok2 || !ok3 || !ok4 || !vm.putWord(a[9], 0) {
		return invalidMemoryAccess
	}
	h := parsePairs(headers).lower()
	if int32(uint32(a[8])) < 0 || !vm.proxy.knows(cluster) ||
		!h.Has(":path") || !h.Has(":method") || !h.Has(":authority") {
		return badArgument
	}
	c := &HTTPCall{
		Token:     nextToken(&vm.nextHTTP, calloutHTTP),
		Cluster:   cluster,
		Headers:   h,
		Body:      body,
		Trailers:  parsePairs(trailers).lower(),
		TimeoutMS: uint32(a[8]),
		vm:        vm,
		root:      vm.acting().root,
		started:   vm.proxy.clock(),
	}
	vm.httpCalls = append(vm.httpCalls, c)
	return vm.giveWord(c.Token, a[9])
}

func (vm *VM) grpcCall(a []uint64) status {
	service, ok1 := vm.bytes(a[0], a[1])
	name, ok2 := vm.text(a[2], a[3])
	method, ok3 := vm.text(a[4], a[5])
	metadata, ok4 := vm.bytes(a[6], a[7])
	message, ok5 := vm.bytes(a[8], a[9])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return invalidMemoryAccess
	}
	cluster, parsed := vm.grpcCluster(service)
	if !parsed {
		return parseFailure
	}
	c := &GRPCCall{
		Token:     nextToken(&vm.nextGRPC, calloutCall),
		Cluster:   cluster,
		Service:   name,
		Method:    method,
		Metadata:  parsePairs(metadata).lower(),
		Message:   message,
		TimeoutMS: uint32(a[10]),
		vm:        vm,
		root:      vm.acting().root,
	}
	if !vm.proxy.knows(cluster) {
		vm.defers(func() { vm.grpcClosed(c.root, c.Token, grpcUnavailable, "Cluster not available") })
		return internalFailure
	}
	vm.grpcCalls = append(vm.grpcCalls, c)
	return vm.giveWord(c.Token, a[11])
}

func (vm *VM) grpcStream(a []uint64) status {
	service, ok1 := vm.bytes(a[0], a[1])
	name, ok2 := vm.text(a[2], a[3])
	method, ok3 := vm.text(a[4], a[5])
	metadata, ok4 := vm.bytes(a[6], a[7])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return invalidMemoryAccess
	}
	cluster, parsed := vm.grpcCluster(service)
	if !parsed {
		return parseFailure
	}
	s := &Stream{
		Token:    nextToken(&vm.nextStream, calloutStream),
		Cluster:  cluster,
		Service:  name,
		Method:   method,
		Metadata: parsePairs(metadata).lower(),
		vm:       vm,
		root:     vm.acting().root,
	}
	if !vm.proxy.knows(cluster) {
		// The close comes under a token that the module never gets.
		vm.defers(func() { vm.grpcClosed(s.root, s.Token, grpcUnavailable, "Cluster not available") })
		return internalFailure
	}
	vm.streams = append(vm.streams, s)
	s.bridge(vm.proxy.config.Bridges[cluster])
	return vm.giveWord(s.Token, a[8])
}

// grpcCluster finds the cluster that a GrpcService message names, or takes the
// bytes for a known cluster's name.
func (vm *VM) grpcCluster(service []byte) (cluster string, parsed bool) {
	if name, ok := protoField1(service); ok {
		if cluster, ok := protoField1(name); ok {
			return string(cluster), true
		}
	}
	return string(service), len(service) > 0 && vm.proxy.knows(string(service))
}

// protoField1 returns the bytes of a message's first field, which must have the
// number 1 and a length.
func protoField1(b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] != 1<<3|2 {
		return nil, false
	}
	n, used := binary.Uvarint(b[1:])
	if used <= 0 || n > uint64(len(b)-1-used) {
		return nil, false
	}
	return b[1+used:][:n], true
}

func (vm *VM) grpcSend(a []uint64) status {
	message, readable := vm.bytes(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	token := uint32(a[0])
	if token&calloutMask != calloutStream {
		return badArgument
	}
	s := vm.stream(token)
	if s == nil {
		return notFound
	}
	s.send(message, a[3] != 0)
	return ok
}

func (vm *VM) grpcCancel(a []uint64) status {
	token := uint32(a[0])
	switch token & calloutMask {
	case calloutCall:
		return vm.endCall(token)
	case calloutStream:
		s := vm.stream(token)
		if s == nil {
			return notFound
		}
		s.cancelled = true
		s.drop()
		return ok
	}
	return badArgument
}

func (vm *VM) grpcClose(a []uint64) status {
	token := uint32(a[0])
	switch token & calloutMask {
	case calloutCall:
		return vm.endCall(token)
	case calloutStream:
		s := vm.stream(token)
		if s == nil {
			return notFound
		}
		s.localClosed = true
		s.halfClose()
		if s.remoteClosed {
			s.drop()
		}
		return ok
	}
	return badArgument
}

func (vm *VM) endCall(token uint32) status {
	for _, c := range vm.grpcCalls {
		if c.Token == token && !c.ended {
			c.ended, c.cancelled = true, true
			return ok
		}
	}
	return notFound
}

func (vm *VM) getStatus(a []uint64) status {
	if !vm.putWord(a[0], vm.statusCode) {
		return invalidMemoryAccess
	}
	return vm.give([]byte(vm.statusText), a[1], a[2])
}
