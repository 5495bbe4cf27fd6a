package emulator

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"time"
)

// redisSettings are what proxy_redis_init sets, for a cluster in a worker: all
// plugins there share them.
type redisSettings struct {
	username, password string
	db                 int
	timeout            time.Duration // of a connected one that owes a reply; 0: none
	flush              time.Duration // how long commands wait for others
}

// redisFlush is how long commands wait where nothing else was said.
const redisFlush = 3 * time.Millisecond

// redisFlushSize is how many bytes don't wait.
const redisFlushSize = 1024

// redisCluster is one cluster's Redis client in one worker: one pipelined
// connection, opened when it is needed.
type redisCluster struct {
	vm       *VM
	name     string
	addr     string // "": the cluster has no host
	settings redisSettings
	conn     *redisConn // nil: none
	inits    int
	opened   int
}

// redisRequest is a command that waits for its reply; one without a root is the
// client's own.
type redisRequest struct {
	token uint32
	root  *vmContext
}

// redisConn is one connection. What its goroutines see is guarded by mu; all else
// happens in the VM's own calls.
type redisConn struct {
	c       *redisCluster
	pending []*redisRequest
	in      []byte
	closed  bool
	timer   *time.Timer

	mu   sync.Mutex
	tcp  net.Conn // nil until it is connected
	out  []byte
	done bool
}

// redisCluster finds a cluster's client; nil for a cluster that the proxy doesn't
// know.
func (vm *VM) redisCluster(name string) *redisCluster {
	addr, known := vm.proxy.config.Redis[name]
	if !known {
		return nil
	}
	c := vm.redis[name]
	if c == nil {
		c = &redisCluster{vm: vm, name: name, addr: addr, settings: redisSettings{flush: redisFlush}}
		if vm.redis == nil {
			vm.redis = map[string]*redisCluster{}
		}
		vm.redis[name] = c
	}
	return c
}

// RedisInits counts how often a plugin of this worker initialised a cluster.
func (vm *VM) RedisInits(cluster string) int {
	if c := vm.redis[cluster]; c != nil {
		return c.inits
	}
	return 0
}

// RedisConnections counts the connections to a cluster ever opened by this worker.
func (vm *VM) RedisConnections(cluster string) int {
	if c := vm.redis[cluster]; c != nil {
		return c.opened
	}
	return 0
}

// UpdateRedisCluster is the control plane sending a cluster anew: the client is made
// anew, and forgets without a word how to log in, and the rest of what was said.
func (vm *VM) UpdateRedisCluster(cluster string) {
	c := vm.redis[cluster]
	if c == nil {
		return
	}
	c.close()
	c.settings = redisSettings{flush: redisFlush}
	vm.afterCall()
}

// initialize takes new settings. Connections are closed, and what waits on them
// fails; newer proxies leave them alone when nothing changed.
func (c *redisCluster) initialize(s redisSettings) {
	c.inits++
	if s == c.settings && !c.vm.proxy.config.RedisReconnects {
		return
	}
	c.settings = s
	c.close()
}

func (c *redisCluster) close() {
	if c.conn != nil {
		c.conn.end()
	}
}

// send queues a command, on a new connection if there is none.
func (c *redisCluster) send(r *redisRequest, command []byte) {
	if c.conn == nil {
		c.open()
	}
	c.conn.queue(r, command)
}

func (c *redisCluster) open() {
	k := &redisConn{c: c}
	c.conn = k
	c.opened++
	s := c.settings
	// Their replies are thrown away, whatever they say.
	own := func(args ...string) { k.queue(&redisRequest{}, encodeCommand(args...)) }
	switch {
	case s.username != "":
		own("AUTH", s.username, s.password)
	case s.password != "":
		own("AUTH", s.password)
	}
	if s.db != 0 {
		own("SELECT", strconv.Itoa(s.db))
	}
	go k.connect(c.addr)
}

// queue adds a command, to be written soon.
func (k *redisConn) queue(r *redisRequest, command []byte) {
	k.pending = append(k.pending, r)
	k.mu.Lock()
	k.out = append(k.out, command...)
	now := k.c.settings.flush == 0 || len(k.out) >= redisFlushSize
	k.mu.Unlock()
	if now {
		k.flush()
	} else {
		time.AfterFunc(k.c.settings.flush, k.flush)
	}
	k.watch()
}

// flush writes what is queued, once there is a connection.
func (k *redisConn) flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tcp == nil || len(k.out) == 0 {
		return
	}
	// An error shows up in the reader too.
	_, _ = k.tcp.Write(k.out)
	k.out = nil
}

func (k *redisConn) connect(addr string) {
	tcp, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		k.c.vm.events.post(k.end)
		return
	}
	k.mu.Lock()
	if k.done {
		k.mu.Unlock()
		_ = tcp.Close()
		return
	}
	k.tcp = tcp
	k.mu.Unlock()
	k.c.vm.events.post(k.watch)
	k.flush()
	buf := make([]byte, 64<<10)
	for {
		n, err := tcp.Read(buf)
		if n > 0 {
			chunk := append([]byte(nil), buf[:n]...)
			k.c.vm.events.post(func() { k.received(chunk) })
		}
		if err != nil {
			k.c.vm.events.post(k.end)
			return
		}
	}
}

func (k *redisConn) connected() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tcp != nil
}

// watch gives the connection up when it owes a reply for too long. Before it is
// connected that is another timeout's business.
func (k *redisConn) watch() {
	if k.closed || k.timer != nil || k.c.settings.timeout == 0 || len(k.pending) == 0 || !k.connected() {
		return
	}
	k.timer = time.AfterFunc(k.c.settings.timeout, func() { k.c.vm.events.post(k.end) })
}

// received passes whole replies on, each to the command it is for.
func (k *redisConn) received(b []byte) {
	k.in = append(k.in, b...)
	for !k.closed {
		n, bad := replySize(k.in)
		if bad {
			k.end()
			return
		}
		if n == 0 || len(k.pending) == 0 {
			return
		}
		reply := append([]byte(nil), k.in[:n]...)
		k.in = k.in[n:]
		r := k.pending[0]
		k.pending = k.pending[1:]
		if k.timer != nil {
			k.timer.Stop()
			k.timer = nil
		}
		k.watch()
		if r.root != nil {
			k.c.vm.redisReplied(r, 0, reply)
		}
	}
}

// end closes the connection; all that waits on it fails.
func (k *redisConn) end() {
	if k.closed {
		return
	}
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Lock()
	k.done = true
	if k.tcp != nil {
		_ = k.tcp.Close()
	}
	k.mu.Unlock()
	if k.c.conn == k {
		k.c.conn = nil
	}
	vm := k.c.vm
	for _, r := range k.pending {
		if r.root != nil {
			// Within a call of the module's it waits until that has returned.
			if vm.current != nil {
				vm.defers(func() { vm.redisReplied(r, 1, nil) })
			} else {
				vm.redisReplied(r, 1, nil)
			}
		}
	}
	k.pending = nil
}

func (vm *VM) redisReplied(r *redisRequest, state uint64, reply []byte) {
	if vm.contexts[r.root.id] != r.root {
		return
	}
	vm.redisReply = reply
	vm.simple(r.root, "proxy_on_redis_call_response", uint64(r.root.id), uint64(r.token), state, uint64(len(reply)))
	vm.redisReply = nil
}

// closeRedis ends all connections without a callback.
func (vm *VM) closeRedis() {
	for _, c := range vm.redis {
		if c.conn != nil {
			c.conn.pending = nil
			c.conn.end()
		}
	}
}

func encodeCommand(args ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b = append(b, "$"+strconv.Itoa(len(a))+"\r\n"+a+"\r\n"...)
	}
	return b
}

// replySize is the length of the first whole RESP2 value, 0 when it isn't whole; bad
// says that it is none.
func replySize(b []byte) (n int, bad bool) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		return 0, false
	}
	n = end + 2
	switch b[0] {
	case '+', '-', ':':
		return n, false
	case '$', '*':
	default:
		return 0, true // as RESP3's types are to this client
	}
	count, err := strconv.Atoi(string(b[1:end]))
	switch {
	case err != nil:
		return 0, true
	case count < 0:
		return n, false
	case b[0] == '$':
		if len(b) < n+count+2 {
			return 0, false
		}
		return n + count + 2, false
	}
	for range count {
		size, bad := replySize(b[n:])
		if bad || size == 0 {
			return 0, bad
		}
		n += size
	}
	return n, false
}
