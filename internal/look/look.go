// Package look asks Redis about counters by the very script that decides, made
// unable to write: what it answers is what a request would be told, and nothing
// is changed. It is for the tool only.
package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
)

// reads are the commands of the scripts that change nothing. All others are
// answered as if they had been carried out.
var reads = []string{"TIME", "GET", "GETRANGE", "ZRANGE", "ZRANGEBYSCORE", "ZCARD", "ZCOUNT", "ZSCORE"}

// ReadOnly is a script that answers as the one given does, and writes nothing,
// on every version of Redis: its `redis` is another one.
func ReadOnly(source string) string {
	var b strings.Builder
	b.WriteString("local real,may=redis,{")
	for i, name := range reads {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + "=1")
	}
	b.WriteString("}\nlocal redis={error_reply=real.error_reply,call=function(c,...)\n" +
		"if may[c] then return real.call(c,...) end\nreturn 1\nend}\n")
	b.WriteString(source)
	return b.String()
}

// Counter is one counter to ask about.
type Counter struct {
	Key       string
	Algorithm *limit.Algorithm
	Op        int64   // lua.OpDecide and so on
	Cost      int64   // 0 looks for room for 1
	Args      []int64 // what the algorithm reads after the cost
}

// Look is a Counter's state as it is, with room for 1 asked for.
func Look(key string, a *limit.Algorithm, args []int64) Counter {
	op := int64(lua.OpDecide)
	if a == limit.Penalty {
		op = lua.OpRefund // a guard has no word of its own
	}
	return Counter{Key: key, Algorithm: a, Op: op, Args: args}
}

// Answer is what the script said about a call.
type Answer struct {
	AtUS     int64 // Redis's time, microseconds since the epoch
	Admitted bool  // every vote admits
	Counters []limit.Decision
	Err      error
}

// Reader asks about counters.
type Reader struct {
	rdb    redis.UniversalClient
	script lua.Script // of all algorithms
	source string
	load   *redis.Script
}

// New makes a Reader over a client, which stays the caller's.
func New(rdb redis.UniversalClient) *Reader {
	r := &Reader{rdb: rdb}
	var names []string
	for _, a := range limit.Algorithms() {
		names = append(names, a.Script)
	}
	r.script = lua.Compose(append(names, limit.Penalty.Script, limit.Pool.Script)...)
	r.source = ReadOnly(r.script.Source)
	r.load = redis.NewScript(r.source)
	return r
}

// errShape is a reply that isn't the script's.
var errShape = errors.New("the script's reply has a wrong shape")

// call runs the script on counters whose keys share a slot. Those that it would
// charge are told wrongly: it then reads what it believes to have written.
func (r *Reader) call(ctx context.Context, clock, id string, counters []Counter) Answer {
	keys, argv := r.args(clock, id, counters)
	return answer(r.load.Run(ctx, r.rdb, keys, argv...), len(counters))
}

// Each asks about the state of each counter in a call of its own, all in one round
// trip.
func (r *Reader) Each(ctx context.Context, counters []Counter) ([]Answer, error) {
	return r.each(ctx, "", counters)
}

func (r *Reader) each(ctx context.Context, clock string, counters []Counter) ([]Answer, error) {
	out := make([]Answer, len(counters))
	if len(counters) == 0 {
		return out, nil
	}
	pipe := r.rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(counters))
	for i := range counters {
		keys, argv := r.args(clock, "look", counters[i:i+1])
		cmds[i] = r.load.EvalSha(ctx, pipe, keys, argv...)
	}
	_, err := pipe.Exec(ctx)
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			out[i] = r.call(ctx, clock, "look", counters[i:i+1])
			continue
		}
		out[i] = answer(cmd, 1)
	}
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) {
		return nil, err // the connection, not a counter
	}
	return out, nil
}

// Verdict is what a call would be told.
type Verdict struct {
	Answer
	// States are the counters as they are, before the call.
	States []limit.Decision
}

// races is how often a verdict is looked for that changes while it is.
const races = 3

// errRace is a counter that changes too fast to be told.
var errRace = errors.New("the counters change too fast: try again")

// Decide says what the plugin's call for counters would be told now, without
// making it. The keys share a slot; clock is "" for Redis's own, id the request's.
// Of what it admits, the figures are those before the call.
func (r *Reader) Decide(ctx context.Context, clock, id string, counters []Counter) (Verdict, error) {
	looks := make([]Counter, len(counters))
	refuse := slices.Clone(counters)
	for i, c := range counters {
		looks[i] = Look(c.Key, c.Algorithm, c.Args)
		if c.Algorithm == limit.Penalty {
			looks[i].Args = []int64{c.Args[0], 1} // alone it guards nothing
		}
		switch c.Op { // a refusal is not to be counted either
		case lua.OpDecideCount:
			refuse[i].Op = lua.OpDecide
		case lua.OpShadowCount:
			refuse[i].Op = lua.OpShadow
		}
	}
	for range races {
		states, err := r.each(ctx, clock, looks)
		if err != nil {
			return Verdict{}, err
		}
		v := Verdict{Answer: Answer{Admitted: true}}
		for i := range states {
			if states[i].Err != nil {
				return Verdict{}, states[i].Err
			}
			d := states[i].Counters[0]
			v.AtUS = states[i].AtUS
			v.States = append(v.States, d)
			d.Admitted = fits(&counters[i], d)
			v.Counters = append(v.Counters, d)
			v.Admitted = v.Admitted && (d.Admitted || refuse[i].Op != lua.OpDecide)
		}
		if v.Admitted {
			return v, nil
		}
		// Nothing is charged by a call that is refused, so that the script tells
		// all about it.
		if a := r.call(ctx, clock, id, refuse); a.Err != nil {
			err = a.Err
		} else if !a.Admitted {
			v.Answer = a
			return v, nil
		}
		if err != nil && !redis.HasErrorPrefix(err, "ERR") {
			return Verdict{}, err
		}
	}
	return Verdict{}, errRace
}

// fits reports whether a counter has room for a request.
func fits(c *Counter, d limit.Decision) bool {
	if c.Algorithm == limit.Penalty {
		return d.Current == 0
	}
	return d.Admitted && d.Remaining >= c.Cost
}

func (r *Reader) args(clock, id string, counters []Counter) (keys []string, argv []any) {
	argv = append(argv, clock, id)
	for i := range counters {
		c := &counters[i]
		keys = append(keys, c.Key)
		argv = append(argv, strconv.Itoa(r.script.Index(c.Algorithm.Script)), c.Op, c.Cost)
		for _, n := range c.Args {
			argv = append(argv, n)
		}
	}
	return keys, argv
}

func answer(cmd *redis.Cmd, n int) Answer {
	reply, err := cmd.Int64Slice()
	if err != nil {
		return Answer{Err: err}
	}
	if len(reply) != 2+5*n {
		return Answer{Err: fmt.Errorf("%w: %d numbers for %d counters", errShape, len(reply), n)}
	}
	a := Answer{AtUS: reply[0], Admitted: reply[1] == 1}
	for i := range n {
		v := reply[2+5*i:]
		a.Counters = append(a.Counters, limit.Decision{
			Admitted: v[0] == 1, Current: v[1], Remaining: v[2], ResetMS: v[3], RetryAfterMS: v[4],
		})
	}
	return a
}

// Tag is the part of a key that decides its slot on a cluster.
func Tag(key string) string {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '}'); j > 0 {
			return key[i+1 : i+1+j]
		}
	}
	return key
}
