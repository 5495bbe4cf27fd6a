//go:build wasip1 && !higress

package host

// A module that imports Redis calls is refused by every proxy but Higress's, so
// this one has none.

func (Wasm) RedisInit(_, _, _ string, _ uint32) Status { return Unimplemented }

func (Wasm) RedisCall(string, []byte) (token uint32, s Status) { return 0, Unimplemented }

func (Wasm) RedisReply(int) ([]byte, Status) { return nil, Unimplemented }
