//go:build wasip1 && higress

package host

import "sluice/internal/goabi/redis"

func (Wasm) RedisInit(cluster, username, password string, timeoutMS uint32) Status {
	return Status(redis.Init(cluster, username, password, timeoutMS))
}

func (Wasm) RedisCall(cluster string, command []byte) (token uint32, s Status) {
	token, st := redis.Call(cluster, command)
	return token, Status(st)
}

func (Wasm) RedisReply(n int) ([]byte, Status) { return Wasm{}.announced(redis.BufferReply, n) }
