package stacktest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Monitor has a Redis tell which commands it runs, those of scripts included.
// The function that it returns ends that, and lists the names of the commands in
// upper case.
func Monitor(t testing.TB, addr string) func() []string {
	t.Helper()
	const end = "the-end-of-monitor"
	watch, reader := dialRedis(t, addr)
	fmt.Fprint(watch, "MONITOR\r\n")
	if ok, err := reader.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatal(ok, err)
	}
	return func() []string {
		t.Helper()
		say, _ := dialRedis(t, addr)
		fmt.Fprintf(say, "ECHO %s\r\n", end)
		var names []string
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, end) {
				return names
			}
			// +1796003206.374730 [0 127.0.0.1:33826] "get" "key"
			_, command, _ := strings.Cut(line, `] "`)
			name, _, _ := strings.Cut(command, `"`)
			names = append(names, strings.ToUpper(name))
		}
	}
}

func dialRedis(t testing.TB, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn, bufio.NewReader(conn)
}
