package plugin

import (
	"math"
	"strconv"

	"sluice/internal/breaker"
	"sluice/internal/call"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/link"
	"sluice/internal/protostruct"
	"sluice/internal/source"
)

const (
	// fastTickMS is the period while calls wait for Redis. Envoy's timers step
	// by 4 ms; a 5 ms tick would fire each 8.
	fastTickMS = 4
	// slowTickMS is the period otherwise; the first fast tick that finds
	// nothing pending returns to it.
	slowTickMS = 500
	// gatherUS is how long a busy pipe's calls may wait for each other.
	gatherUS = 500
)

// worker is one configuration in one worker: its policy, its ways to Redis and
// what it counts.
type worker struct {
	vm       *VM
	host     host.Host
	id       uint32
	path     string // of the configuration in a larger one, ending in a dot; "" for none
	policy   *config.Policy
	engine   *engine.Engine
	pipes    []link.Link
	lanes    []lane // the hash slots' ways over the pipes; one where there are no slots
	metrics  metrics
	answers  answers
	logs     throttle
	toldOpen bool // the last line about a breaker says that Redis fails
	memory   engine.Memory
	control  *control
	fallback *fallback           // nil where this gateway counts for no limit
	flights  map[uint64]*request // whose calls are out, by signature
	// pipe and breaker are the first lane's, for what is about no counter.
	pipe    link.Link
	breaker *breaker.Breaker
	waiting waiting
	delays  delays
	leases  leases
	slow    *slowness // nil where no limit has hot.local
	turns   engine.Turns
	print   uint64   // of the configuration's text
	tags    []string // headers that only the plugin may set
	// clientWarned keeps the word on unknown addresses to one.
	clientWarned bool
	served       bool // a request came

	tickMS   uint32
	view     source.View
	command  []byte // reused for each command sent
	asked    call.Request
	text     []byte // reused for each filter state
	pool     pool
	idPrefix []byte // this worker's random share of request ids
	seq      uint64
}

// OnPluginStart loads the configuration. With an error in it every error is
// logged and the load fails, so a running configuration stays.
func (w *worker) OnPluginStart(int) (status bool) {
	defer w.recoverIn("configure", func() { status = false })
	w.metrics.defineGlobal(w.host)
	text := w.configuration()
	w.print = fingerprint(text)
	policy, errs := config.Parse(text)
	if len(errs) > 0 {
		w.refuse(errs)
		return false
	}
	if name := policy.HashSecretEnv; name != "" {
		secret := w.host.Env(name)
		if secret == "" {
			// Keys hashed with a known secret could be guessed, so this isn't run.
			w.metrics.configErrors.add(1)
			w.host.Log(host.Error, "sluice: configuration: "+w.path+"hash_secret_env: the environment variable "+name+" is empty or not passed to the plugin")
			return false
		}
		policy.SetHashSecret([]byte(secret))
	}
	w.policy = policy
	w.engine = engine.New(policy)
	w.metrics.define(w.host, policy)
	w.metrics.flushed = math.MinInt64 / 2 // the first request's go out at once
	w.answers.compile(policy)
	w.tags = tagHeaders(policy)
	if !w.canLink() {
		return false
	}
	if policy.Redis.Topology == config.RedisCluster {
		w.openLanes(clusterPipes, clusterLanes)
	} else {
		w.openLanes(1, 1)
	}
	w.idPrefix = w.randomID()
	w.leases = newLeases(w)
	w.turns.Shard = w.random()
	if w.slow = newSlowness(w); w.slow != nil {
		w.turns.Local = w.slow.isLocal
	}
	w.fallback = newFallback(w)
	w.control = newControl(w)
	w.announce()
	w.tick(slowTickMS)
	return true
}

// refuse counts and logs what is wrong with the configuration.
func (w *worker) refuse(errs config.Errors) {
	w.metrics.configErrors.add(int64(len(errs)))
	for _, e := range errs {
		w.host.Log(host.Error, "sluice: configuration: "+w.path+e.Error())
	}
}

// configuration is the configuration's text: JSON, or a Struct's bytes, which
// begin with its first field's tag and read as nothing else.
func (w *worker) configuration() []byte {
	text, s := w.host.PluginConfiguration()
	if s != host.OK || len(text) == 0 || text[0] != '\n' {
		return text
	}
	if json, err := protostruct.AppendJSON(nil, text); err == nil {
		return json
	}
	return text
}

// pipeOptions are the link's settings from the policy.
func (w *worker) pipeOptions() link.Options {
	r := &w.policy.Redis
	password := r.Password
	if r.PasswordEnv != "" {
		password = w.host.Env(r.PasswordEnv)
		if password == "" {
			w.host.Log(host.Warn, "sluice: redis.password_env: the environment variable "+r.PasswordEnv+" is empty or not passed to the plugin")
		}
	}
	return link.Options{
		Username: r.Username,
		Password: password,
		DB:       int(r.DB),
		// No longer than between two probes of the breaker, so that a Redis that is
		// back is found within a second.
		BackoffMax: 500_000,
		// A cluster's pipe leads to all nodes: redis_proxy looks for the master.
		LeaveReadOnly: r.Topology != config.RedisCluster,
		Gather:        gatherUS,
		Apart:         r.Topology == config.RedisCluster,
		Rand:          w.random,
		Observer:      observer{w},
	}
}

// random is a source of jitter.
func (w *worker) random() uint32 {
	var b [4]byte
	w.host.Random(b[:])
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// randomID makes the part of request ids that no other worker shares.
func (w *worker) randomID() []byte {
	var b [6]byte
	w.host.Random(b[:])
	const digits = "0123456789abcdefghijklmnopqrstuv"
	id := make([]byte, 0, 11)
	for _, x := range b {
		id = append(id, digits[x>>4], digits[x&15])
	}
	return append(id[:10], '-')
}

// appendRequestID appends a text that no other hit has.
func (w *worker) appendRequestID(dst []byte) []byte {
	w.seq++
	return strconv.AppendUint(append(dst, w.idPrefix...), w.seq, 36)
}

// tick asks for a period, once for each change.
func (w *worker) tick(ms uint32) {
	if w.tickMS != ms {
		w.tickMS = ms
		w.host.SetTick(ms)
	}
}

// OnTick lets deadlines expire.
func (w *worker) OnTick() {
	defer w.recoverIn("tick", nil)
	if w.pipe == nil {
		return
	}
	now := w.vm.steady()
	w.probe(now)
	w.control.tick(now)
	if w.fallback != nil {
		w.fallback.tick(now)
	}
	w.leases.tick(now)
	w.slow.tick(now)
	busy := false
	for _, p := range w.pipes {
		busy = p.Tick(now) != 0 || busy
	}
	w.retryDue(now)
	w.releaseDue(now)
	w.metrics.flush(now) // with what was decided here: the next tick may be far
	switch {
	case busy || len(w.waiting.queue) > 0 || w.delays.len() > 0:
	case w.leases.live > 0:
		w.tick(leaseTickMS)
	case w.anyOpen(), w.slow.busy():
		w.tick(probeTickMS)
	default:
		w.tick(slowTickMS)
	}
}

// now is the gateway's time where the engine needs it, else 0: asking costs a
// host call.
func (w *worker) now() int64 {
	if w.engine.NeedsNow() {
		return w.control.callTime()
	}
	return 0
}

// send sends the command that r's decision asks for. Each attempt has the same
// request id: one that was carried out after all is then known again where the
// algorithm keeps ids.
func (w *worker) send(r *request, now int64) error {
	if len(r.callID) == 0 {
		r.callID = w.appendRequestID(r.callID)
	}
	l := w.laneOf(&r.decision)
	if !l.breaker.Allow() {
		return errOpen
	}
	r.hold()
	if err := w.ask(now, l, &r.decision, r.callID, 1, r.deadline, r); err != nil {
		r.refs--
		w.report(l, now, engine.Unavailable)
		return err
	}
	r.calledAt = now
	if !r.leads {
		w.turns.Shard++
	}
	w.takeOff(r)
	w.tick(fastTickMS)
	return nil
}

// ask sends what d asks the script for, n times the cost. It may go out a little
// later, in one call with what other requests ask, unless d wants to be alone.
func (w *worker) ask(now int64, l *lane, d *engine.Decision, id []byte, n int, deadline int64, c link.Call) error {
	d.Ask(&w.asked, id, w.now(), n)
	if d.WantsScript() || d.Apart() {
		w.command = w.asked.AppendCall(w.command[:0], d.WantsScript())
		return l.pipe.Send(now, w.command, deadline, c)
	}
	return l.pipe.Ask(now, &w.asked, deadline, c)
}

// NewHttpContext makes one request's context.
func (w *worker) NewHttpContext(id uint32) goabi.Stream {
	w.served = true
	return w.pool.get(w, id)
}

// OnPluginDone is asked when the configuration is replaced and its last request
// is gone.
func (w *worker) OnPluginDone() bool {
	w.metrics.flush(w.vm.now)
	for i := range w.lanes {
		if w.lanes[i].breaker.IsOpen() {
			w.metrics.breakerOpen.add(-1) // the gauge is one for all workers
		}
	}
	w.retire()
	w.leases.drop(w.host.Steady())
	w.slow.close()
	for _, p := range w.pipes {
		p.Close(w.host.Steady())
	}
	w.vm.forgetCalls(w)
	return true
}
