package emulator

import (
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// bridge carries the bytes of one stream over a TCP connection.
type bridge struct {
	stream *Stream
	conn   net.Conn
	once   sync.Once
	done   chan struct{} // the reader has ended
}

const dialTimeout = 2 * time.Second

// bridge connects the stream to addr, if there is one. A connection that fails
// ends the stream at the next Pump.
func (s *Stream) bridge(addr string) {
	if addr == "" {
		return
	}
	conn, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		s.vm.events.post(func() { s.unreachable(err.Error()) })
		return
	}
	s.tcp = &bridge{stream: s, conn: conn, done: make(chan struct{})}
	go s.tcp.read()
}

// unreachable ends the stream as Envoy does when its upstream can't be reached:
// by an answer that it makes itself.
func (s *Stream) unreachable(text string) {
	s.ReceiveInitialMetadata(nil)
	s.ReceiveTrailingMetadata(Headers{
		{":status", "200"},
		{"content-type", "application/grpc"},
		{"grpc-status", strconv.Itoa(grpcUnavailable)},
		{"grpc-message", text},
	})
	s.Close(grpcUnavailable, text)
}

func (b *bridge) read() {
	defer close(b.done)
	s := b.stream
	buf := make([]byte, 64<<10)
	for {
		n, err := b.conn.Read(buf)
		if n > 0 {
			chunk := append([]byte(nil), buf[:n]...)
			s.vm.events.post(func() { s.Receive(chunk) })
		}
		if err != nil {
			text := "connection ended"
			if err != io.EOF {
				text = err.Error()
			}
			s.vm.events.post(func() { s.Close(grpcInternal, text) })
			return
		}
	}
}

func (b *bridge) write(message []byte) {
	// An error shows up in the reader too.
	_, _ = b.conn.Write(message)
}

// halfClose tells the server that no more comes.
func (s *Stream) halfClose() {
	if s.tcp == nil {
		return
	}
	if c, ok := s.tcp.conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
}

// unbridge closes the connection and waits for its reader to end.
func (s *Stream) unbridge() {
	if s.tcp == nil {
		return
	}
	s.tcp.once.Do(func() {
		_ = s.tcp.conn.Close()
		<-s.tcp.done
	})
}
