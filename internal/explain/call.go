package explain

import (
	"slices"
	"strconv"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/stored"
	"sluice/redisproto"
)

// Call is one script call that Redis gets.
type Call struct {
	// Slot is the hash slot of the keys; nil for a Redis that is no cluster.
	Slot   *uint16    `json:"slot,omitempty"`
	SHA    string     `json:"sha"`
	Keys   []string   `json:"keys"`
	Common []Argument `json:"common"`
	// Counters has the arguments of each key, in the keys' order.
	Counters [][]Argument `json:"counters"`

	decision *engine.Decision // what the call decides
}

// Argument is one of ARGV, with a name.
type Argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// calls divides the request as the plugin does. What the gateway counts by itself
// is taken to have room: else no call is made.
func (x *Explanation) calls() {
	if !x.decision.Divided() {
		x.Calls = []*Call{x.call(x.decision)}
		return
	}
	x.split = new(engine.Split)
	x.split.Start(x.decision)
	for _, d := range x.split.Parts {
		x.Calls = append(x.Calls, x.call(d))
	}
}

// OnlyGateway reports that all counters of the request are those that each gateway
// keeps for itself.
func (x *Explanation) OnlyGateway() bool {
	return x.split != nil && len(x.Calls) == 0
}

// call names the parts of a decision's command.
func (x *Explanation) call(d *engine.Decision) *Call {
	words := split(d.AppendCommand(nil, []byte(RequestID), x.nowUS))
	n := len(d.Plan.Charges)
	c := &Call{SHA: words[1], Keys: words[3 : 3+n], decision: d}
	if x.engine.Policy().Redis.Topology == config.RedisCluster {
		slot := d.Slot()
		c.Slot = &slot
	}
	argv := words[3+n:]
	c.Common = []Argument{{"clock", argv[0]}, {"request_id", argv[1]}}
	argv = argv[2:]
	for i := range d.Plan.Charges {
		names := slices.Concat([]string{"algorithm", "op", "cost"}, argNames(d.Plan.Charges[i].Algorithm()))
		var row []Argument
		for j, name := range names {
			row = append(row, Argument{name, argv[j]})
		}
		c.Counters = append(c.Counters, row)
		argv = argv[len(names):]
	}
	return c
}

// argNames names what an algorithm's script reads after the cost.
func argNames(a *limit.Algorithm) []string {
	if f := stored.Of(a); f != nil {
		return f.ArgNames
	}
	names := make([]string, a.NArgs)
	for i := range names {
		names[i] = "argument_" + strconv.Itoa(i+1)
	}
	return names
}

// split decodes a command.
func split(command []byte) []string {
	d := redisproto.NewDecoder(redisproto.Limits{MaxElems: 1 << 22, MaxBulk: 4 << 20, MaxBuffered: 256 << 20})
	d.Feed(command)
	v, ok, err := d.Next()
	if !ok || err != nil {
		return nil
	}
	var words []string
	for _, e := range v.Elems {
		words = append(words, string(e.Str))
	}
	return words
}
