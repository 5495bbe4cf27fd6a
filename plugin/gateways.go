package plugin

import (
	"encoding/binary"
	"strconv"

	"sluice/internal/host"
	"sluice/redisproto"
)

const (
	// beatEveryUS is how often a gateway says that it lives.
	beatEveryUS = 2_000_000
	// beatDeadMS is after how long without a word it no longer counts.
	beatDeadMS = 7_000
)

// beatScript notes that a gateway lives and counts those that do, by Redis's
// clock: one sorted set, a member a gateway, its score the time in ms.
const beatScript = `local t=redis.call('TIME')
local ms=t[1]*1000+math.floor(t[2]/1000)
redis.call('ZADD',KEYS[1],ms,ARGV[1])
redis.call('ZREMRANGEBYSCORE',KEYS[1],'-inf',ms-tonumber(ARGV[2]))
redis.call('PEXPIRE',KEYS[1],60000)
return redis.call('ZCARD',KEYS[1])`

// census counts the gateways that share the limits, for the size of a local
// share. One worker a gateway beats; all read the count from shared data, where
// the last one stays while Redis is away.
type census struct {
	w     *worker
	id    []byte // the gateway's, random, the same for all its workers
	count int64  // 0 until one is known
	scope string // tells apart what doesn't share limits
	names [3]string
}

// Names of the census's shared data: the gateway's id, when it last beat, and
// how many there are. They are told apart by what the gateways share.
const (
	censusID = iota
	censusBeat
	censusCount
)

func newCensus(w *worker) *census {
	c := &census{w: w}
	r := &w.policy.Redis
	c.scope = strconv.FormatUint(fingerprint([]byte(r.Cluster+"\x00"+r.Prefix)), 16)
	for i, name := range [...]string{"id", "beat", "gateways"} {
		c.names[i] = "sluice." + name + "." + c.scope
	}
	return c
}

// gateways is how many gateways share the limits.
func (c *census) gateways() int64 {
	if n := c.w.policy.Gateways; n > 0 {
		return n
	}
	if c.count == 0 {
		c.read() // a worker's first request may come while Redis is away
	}
	return max(c.count, 1)
}

// read takes the count that a worker of this gateway was told last.
func (c *census) read() {
	if v, _, s := c.w.host.SharedData(c.names[censusCount]); s == host.OK && len(v) == 8 {
		c.count = int64(binary.LittleEndian.Uint64(v))
	}
}

// tick reads the count and, when this gateway is due and no other worker was
// quicker, beats.
func (c *census) tick(now int64) {
	if c.w.policy.Gateways > 0 {
		return
	}
	c.read()
	h := c.w.host
	v, cas, s := h.SharedData(c.names[censusBeat])
	if s == host.OK && len(v) == 8 && now-int64(binary.LittleEndian.Uint64(v)) < beatEveryUS {
		return
	}
	if s != host.OK {
		cas = createOnly
	}
	if h.SetSharedData(c.names[censusBeat], binary.LittleEndian.AppendUint64(nil, uint64(now)), cas) != host.OK {
		return // another worker's turn
	}
	key := c.w.policy.Redis.Prefix + ":{gateways}:beat1"
	l := c.w.laneTo([]byte(key))
	if l.breaker.IsOpen() || !c.identify() {
		return
	}
	cmd := redisproto.AppendCommand(nil, "EVAL", beatScript, "1", key, string(c.id), strconv.Itoa(beatDeadMS))
	if l.pipe.Send(now, cmd, now+c.w.policy.Redis.TimeoutUS, beat{c}) == nil {
		c.w.tick(fastTickMS)
	}
}

// createOnly makes SetSharedData fail where there is a value already.
const createOnly = 0xFFFFFFFF

// identify finds the gateway's id, or makes one.
func (c *census) identify() bool {
	for range 2 {
		if len(c.id) > 0 {
			return true
		}
		if v, _, s := c.w.host.SharedData(c.names[censusID]); s == host.OK && len(v) > 0 {
			c.id = v
			continue
		}
		c.w.host.SetSharedData(c.names[censusID], c.w.randomID(), createOnly)
	}
	return len(c.id) > 0
}

// beat is a heartbeat's continuation.
type beat struct{ c *census }

// Done is link.Call: the reply is how many gateways live.
func (b beat) Done(reply redisproto.Value, err error) {
	if err != nil || reply.Kind != redisproto.Integer || reply.Int < 1 {
		return // the last count stays
	}
	b.c.count = reply.Int
	b.c.w.host.SetSharedData(b.c.names[censusCount], binary.LittleEndian.AppendUint64(nil, uint64(reply.Int)), 0)
}
