package emulator

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// redisCalls are Higress's: a stock Envoy has none, and refuses a module that
// imports one.
var redisCalls = []hostCall{
	{"proxy_redis_init", "iiiiiii", (*VM).redisInit},
	{"proxy_redis_call", "iiiii", (*VM).redisCall},
}

// higressOnly reports whether a host call is one of those.
func higressOnly(name string) bool {
	for _, c := range redisCalls {
		if c.name == name {
			return true
		}
	}
	return false
}

func (vm *VM) redisInit(a []uint64) status {
	target, ok1 := vm.text(a[0], a[1])
	username, ok2 := vm.text(a[2], a[3])
	password, ok3 := vm.text(a[4], a[5])
	if !ok1 || !ok2 || !ok3 {
		return invalidMemoryAccess
	}
	name, query, _ := strings.Cut(target, "?")
	c := vm.redisCluster(name)
	if c == nil {
		return badArgument
	}
	s := redisSettings{
		username: username, password: password,
		timeout: time.Duration(uint32(a[6])) * time.Millisecond,
		flush:   redisFlush,
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return badArgument
	}
	s.db, _ = strconv.Atoi(parameters.Get("db"))
	if v := parameters.Get("buffer_flush_timeout"); v != "" {
		ms, err := strconv.Atoi(v)
		if err == nil {
			s.flush = time.Duration(ms) * time.Millisecond
		}
	}
	c.initialize(s)
	return ok
}

func (vm *VM) redisCall(a []uint64) status {
	name, ok1 := vm.text(a[0], a[1])
	command, ok2 := vm.bytes(a[2], a[3])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	c := vm.redisCluster(name)
	if c == nil {
		return badArgument
	}
	if len(command) == 0 {
		// It ends the whole proxy.
		vm.misused("proxy_redis_call without a command")
		return badArgument
	}
	if c.addr == "" {
		return internalFailure // no host
	}
	vm.nextRedis++
	token := vm.nextRedis
	s := vm.giveWord(token, a[4])
	if s == ok {
		c.send(&redisRequest{token: token, root: vm.acting().root}, command)
	}
	return s
}
