package plugin

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/host/hosttest"
	"sluice/internal/slot"
)

// nodes are a Redis Cluster behind the worker's streams: counters without a
// window, whose limits are in the calls.
type nodes struct {
	rig      *rig
	counters map[string]int64
	calls    []*nodeCall // that wait for a reply, in the order of their streams
	all      []*nodeCall
}

// nodeCall is one script call.
type nodeCall struct {
	stream *hosttest.Stream
	args   []string
	keys   []string
	id     string
	ops    []nodeOp
}

type nodeOp struct{ op, cost, limit int64 }

func newNodes(r *rig) *nodes { return &nodes{rig: r, counters: map[string]int64{}} }

// take reads the calls that went out.
func (c *nodes) take() {
	c.rig.t.Helper()
	for _, st := range c.rig.host.Streams.Opened {
		for _, cmd := range c.rig.taken(st) {
			k := &nodeCall{stream: st, args: cmd}
			if k.args[0] != "PING" {
				k.parse(c.rig.t)
			}
			c.calls = append(c.calls, k)
			c.all = append(c.all, k)
		}
	}
}

func (k *nodeCall) parse(t testing.TB) {
	num := func(i int) int64 {
		n, err := strconv.ParseInt(k.args[i], 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", k.args, err)
		}
		return n
	}
	n := int(num(2))
	k.keys = k.args[3 : 3+n]
	k.id = k.args[3+n+1]
	at := 3 + n + 2
	for i := range n {
		if slot.Of([]byte(k.keys[i])) != slot.Of([]byte(k.keys[0])) {
			t.Fatalf("CROSSSLOT: %q", k.keys)
		}
		o := nodeOp{op: num(at + 1), cost: num(at + 2), limit: num(at + 3)}
		k.ops = append(k.ops, o)
		at += 5
		if o.op == 6 {
			at += 2
		}
	}
	if at != len(k.args) {
		t.Fatalf("%d arguments of %d are understood: %q", at, len(k.args), k.args)
	}
}

// run carries a call out and returns its reply.
func (c *nodes) run(k *nodeCall) []byte {
	if k.args[0] == "PING" {
		return []byte("+PONG\r\n")
	}
	ok := int64(1)
	for i, o := range k.ops {
		if o.op == 0 && c.counters[k.keys[i]]+max(o.cost, 1) > o.limit {
			ok = 0
		}
	}
	reply := []int64{serverTime, ok}
	for i, o := range k.ops {
		n := c.counters[k.keys[i]]
		own := int64(1)
		switch {
		case o.op == 6 || o.op == 3:
			n = max(n-o.cost, 0)
		case o.op == 2:
			n += o.cost
		case n+max(o.cost, 1) > o.limit:
			own = 0
		case ok == 1:
			n += o.cost
		}
		c.counters[k.keys[i]] = n
		reply = append(reply, own, n, max(o.limit-n, 0), 900, 900*(1-own))
	}
	return decision(reply...)
}

// answer replies to one of the calls that wait, the first of a stream's.
func (c *nodes) answer(k *nodeCall, b []byte) {
	c.rig.t.Helper()
	i := slices.Index(c.calls, k)
	for _, before := range c.calls[:i] {
		if before.stream == k.stream {
			c.rig.t.Fatal("a stream answers in order")
		}
	}
	c.calls = slices.Delete(c.calls, i, i+1)
	c.rig.receive(k.stream, b)
}

// answerAll carries out and answers all that waits, and what follows from that.
func (c *nodes) answerAll() {
	c.rig.t.Helper()
	for c.take(); len(c.calls) > 0; c.take() {
		k := c.calls[0]
		c.answer(k, c.run(k))
	}
}

// with finds the waiting call for a limit.
func (c *nodes) with(limit string) *nodeCall {
	c.rig.t.Helper()
	c.take()
	for _, k := range c.calls {
		for _, key := range k.keys {
			if strings.Contains(key, "{"+limit+"|") {
				return k
			}
		}
	}
	c.rig.t.Fatalf("no call for %s is out", limit)
	return nil
}

// total is what all counters of a limit hold.
func (c *nodes) total(limit string) (n int64) {
	for key, v := range c.counters {
		if strings.Contains(key, "{"+limit+"|") {
			n += v
		}
	}
	return n
}
