package stack

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// ErrPortTaken means that another program was faster to take a port.
var ErrPortTaken = errors.New("the port is taken")

// portTries bounds how often a server is started again on another port.
const portTries = 10

// Addr is host:port of a port on this machine.
func Addr(port int) string { return net.JoinHostPort(Host, strconv.Itoa(port)) }

// FreePort returns a port that nothing listens on. Another program can take it
// before the caller does: whoever binds it must be ready to ask again.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", Addr(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// PortFree reports whether a server could listen on port now.
func PortFree(port int) bool {
	l, err := net.Listen("tcp", Addr(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// PortOr returns want when it is free, else another free port.
func PortOr(want int) (int, error) {
	if PortFree(want) {
		return want, nil
	}
	return FreePort()
}
