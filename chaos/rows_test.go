package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"sluice/chaos/faultproxy"
	"sluice/chaos/load"
)

const (
	// soon is until each gateway got a request, and then some.
	soon = 500 * time.Millisecond
	// again is how long gateways may take to decide by Redis again where no
	// connection was lost: until the breaker's next probe.
	again = probeWait + soon
	// reconnects is the same where the connection was lost while Redis was away:
	// until the first probe after the longest wait between two attempts to
	// connect.
	reconnects = backoffMax + probeWait + soon
	// gaveUp is the same where a connection says nothing any more.
	gaveUp = stallAfter + timeout + reconnects
)

const (
	whyExact   = "Nothing is forgotten, so the limit holds in every window."
	whyWipe    = "What Redis admitted since its last loss, and what the limit admits anew: at most the limit and what was forgotten, and each life of Redis keeps the limit by itself."
	whyTimeout = "Requests end by `on_error` when `redis.timeout` has passed. A call that timed out may have been carried out: it then counts, never the other way round."
)

// scenarios are the faults of one Redis. Those to come (hot keys) are further rows.
var scenarios = []scenario{
	{
		name: "none", short: true, decided: true, recovers: soon,
		what:  "Nothing breaks: what the load looks like.",
		why:   whyExact,
		fault: func(*run) { time.Sleep(window) },
	},
	{
		name: "Redis killed and restarted", short: true, lostConnections: true, recovers: reconnects,
		what:  "kill -9; Redis starts again 0.6 s later, empty.",
		bound: "N + F",
		why:   whyWipe,
		fault: func(r *run) { killRedis(r, 600*time.Millisecond) },
	},
	{
		name: "Redis restarted at once", lostConnections: true, recovers: reconnects,
		what:  "kill -9; Redis starts again at once, empty, so that windows span its two lives.",
		bound: "N + F",
		why:   whyWipe,
		fault: func(r *run) { killRedis(r, 0) },
	},
	{
		name: "replica promoted, writes lost", short: true, lostConnections: true, recovers: reconnects,
		what:  "The link between master and replica stops; 0.15 s later the master is killed. Gateways reach the replica, which refuses writes, and after 0.3 s it is promoted.",
		bound: "N + F",
		why:   "The limit and what the replica never heard of. Without those admissions the history keeps the limit in every window.",
		fault: func(r *run) { promote(r, promotion{lost: 150 * time.Millisecond, readonly: 300 * time.Millisecond}) },
	},
	{
		name: "Redis killed, local shares", short: true, lostConnections: true, recovers: reconnects,
		what:    "kill -9; Redis starts again 1 s later, empty. Requests for a limit with `on_error: local`, judged here too, are decided by their gateway's share of it, a third, meanwhile; what they were admitted is charged to Redis afterwards.",
		bound:   "N + F; 2N with local shares",
		why:     whyWipe + " With local shares a window may also hold the gateways' shares: at most the limit once more, and the shares alone in windows within the outage.",
		streams: []*load.Stream{shared()},
		fault:   localShares,
	},
	{
		name: "Redis stopped", short: true, recovers: again,
		what:  "SIGSTOP for 0.7 s: connections stay open, nothing answers.",
		why:   whyExact + " " + whyTimeout,
		fault: func(r *run) { stopRedis(r, 700*time.Millisecond) },
	},
	{
		name: "Redis stopped for long", lostConnections: true, recovers: reconnects,
		what:  "SIGSTOP for 2.5 s: the link gives the silent connection up and opens others.",
		why:   whyExact + " " + whyTimeout,
		fault: func(r *run) { stopRedis(r, 2500*time.Millisecond) },
	},
	{
		name: "CLIENT PAUSE", recovers: again,
		what:  "CLIENT PAUSE 700 ALL.",
		why:   whyExact + " " + whyTimeout,
		fault: func(r *run) { pauseClients(r, 700*time.Millisecond) },
	},
	{
		name: "slow script", recovers: again,
		what:  "A script runs for 0.7 s; after 0.35 s Redis answers everybody BUSY.",
		why:   whyExact + " " + whyTimeout,
		fault: func(r *run) { slowScript(r, 350*time.Millisecond, 350*time.Millisecond) },
	},
	{
		name: "SCRIPT FLUSH", short: true, decided: true, recovers: soon,
		what:  "10 times, 60 ms apart. A Redis without the script is sent it with the same decision.",
		why:   whyExact,
		fault: func(r *run) { flushScripts(r, 10, 60*time.Millisecond) },
	},
	{
		name: "FLUSHALL", short: true, decided: true, recovers: soon,
		what:  "All data is deleted.",
		bound: "N + F",
		why:   whyWipe,
		fault: flushAll,
	},
	{
		name: "slow network", short: true, decided: true, recovers: soon,
		what: "4 to 6 ms are added each way, a twentieth of the timeout in all.",
		why:  whyExact,
		fault: func(r *run) {
			network(r, faultproxy.Faults{Latency: 4 * time.Millisecond, Jitter: 2 * time.Millisecond}, 700*time.Millisecond)
		},
	},
	{
		name: "slower network", recovers: again,
		what: "30 to 45 ms are added each way, less than half of the timeout in all.",
		why:  whyExact + " A request for a hot key waits for the call that is out and for its share of the next one, and for more where the limit cuts that one in two: `on_error` may speak although no single call is slower than the timeout.",
		fault: func(r *run) {
			network(r, faultproxy.Faults{Latency: 30 * time.Millisecond, Jitter: 15 * time.Millisecond}, 700*time.Millisecond)
		},
	},
	{
		name: "network slower than the timeout", recovers: again,
		what: "150 ms are added each way.",
		why:  whyExact + " " + whyTimeout,
		fault: func(r *run) {
			network(r, faultproxy.Faults{Latency: 150 * time.Millisecond}, 700*time.Millisecond)
		},
	},
	{
		name: "network drips", lostConnections: true, recovers: gaveUp,
		what: "1000 bytes a second and direction pass for 0.8 s: replies fall behind, one byte after the other.",
		why:  whyExact + " " + whyTimeout,
		fault: func(r *run) {
			network(r, faultproxy.Faults{Rate: 1000}, 800*time.Millisecond)
		},
	},
	{
		name: "network down", lostConnections: true, recovers: reconnects,
		what: "All connections are reset and new ones refused, for 0.7 s; Redis keeps its data.",
		why:  whyExact,
		fault: func(r *run) {
			r.bed.proxy.Set(faultproxy.Faults{Refuse: true})
			r.bed.proxy.Cut()
			network(r, faultproxy.Faults{Refuse: true}, 700*time.Millisecond)
		},
	},
	{
		name: "connections cut", short: true, lostConnections: true, recovers: reconnects,
		what:  "All connections to Redis are reset 7 times, 100 ms apart. An attempt that was lost is repeated once; it may have counted already.",
		why:   whyExact,
		fault: func(r *run) { cuts(r, 7, 100*time.Millisecond) },
	},
	{
		name: "network held", recovers: again,
		what:  "Nothing passes for 0.7 s, then all of it does.",
		why:   whyExact + " " + whyTimeout,
		fault: func(r *run) { network(r, faultproxy.Faults{Hold: true}, 700*time.Millisecond) },
	},
	{
		name: "half-open connections", short: true, lostConnections: true, recovers: gaveUp,
		what:  "What is sent for 0.5 s, and later on the same connections, never arrives, and nobody is told.",
		why:   whyExact + " " + whyTimeout + " A connection that owes a reply for a second is given up.",
		fault: func(r *run) { network(r, faultproxy.Faults{Lose: true}, 500*time.Millisecond) },
	},
	{
		name: "configuration changed", short: true, decided: true, recovers: soon,
		what:  "The limit is halved on open connections, through Envoy's filter discovery, and later restored.",
		bound: "the higher N",
		why:   "The higher of the limits; and each admission had room under the limit that its gateway knew by then.",
		fault: changeLimit,
	},
	{
		name: "panics", short: true, decided: true, uncounted: true, recovers: again,
		what:    "Requests ask one gateway for a panic while it reads the request, Redis's reply, or the answer. Those are settled by `on_error`; the others are judged here.",
		why:     whyExact,
		streams: []*load.Stream{panicking(open), panicking(shut)},
		fault:   panicOnRequest,
	},
	{
		name: "virtual machine dies", short: true, uncounted: true, recovers: reload + soon,
		what:  "A request has the plugin trap, as running out of memory would, while Redis is slow and requests are held; and again as soon as Envoy has started the machine anew (`failure_policy: FAIL_RELOAD`).",
		why:   whyExact + " Only that worker's requests are concerned, and no code of the plugin's runs that could answer them: those it held are answered by Envoy when `stream_idle_timeout` (here 2 s) has passed, new ones at once, 503, until Envoy starts the machine anew: within 1 s.",
		fault: trapOnRequest,
		died:  diedWithTheMachine,
	},
	{
		name: "callers hang up", short: true, decided: true, uncounted: true, recovers: soon,
		what:    "Redis is 25 ms away, and some callers hang up after 15 ms, while they are held. Nothing of them stays behind in a gateway.",
		why:     whyExact + " Those who left are charged.",
		streams: []*load.Stream{impatient(open), impatient(shut)},
		fault: func(r *run) {
			network(r, faultproxy.Faults{Latency: 12 * time.Millisecond}, 700*time.Millisecond)
		},
	},
	{
		name: "clock 2 s back", short: true, lostConnections: true, recovers: reconnects, starves: 2 * time.Second,
		what:  "The promoted replica's clock is 2 s behind. Up to 3 s the log waits for the clock: the time at which a full key admits again comes as much later.",
		bound: "N + F; 2N + F by Redis's clock",
		why:   "By a wall clock as for any promotion. Redis's own clock passes the same time twice: twice the limit.",
		fault: func(r *run) { promote(r, promotion{ahead: -2 * time.Second}) },
	},
	{
		name: "clock 10 s back", lostConnections: true, recovers: reconnects,
		what:  "The promoted replica's clock is 10 s behind: the log moves with it.",
		bound: "N + F; 2N + F by Redis's clock",
		why:   "By a wall clock as for any promotion. Redis's own clock passes the same time twice: twice the limit.",
		fault: func(r *run) { promote(r, promotion{ahead: -10 * time.Second}) },
	},
	{
		name: "clock 0.2 s forth", short: true, lostConnections: true, recovers: reconnects,
		what:  "The promoted replica's clock is 0.2 s ahead.",
		bound: "N + F + J",
		why:   "Hits leave the window 0.2 s too early by a wall clock: the limit and the most that was admitted in any 0.2 s.",
		fault: func(r *run) { promote(r, promotion{ahead: 200 * time.Millisecond}) },
	},
	{
		name: "clock 10 s forth", lostConnections: true, recovers: reconnects,
		what:  "The promoted replica's clock is 10 s ahead.",
		bound: "N + F + J",
		why:   "All hits leave at once: twice the limit by a wall clock.",
		fault: func(r *run) { promote(r, promotion{ahead: 10 * time.Second}) },
	},
	{
		name: "clock set back and forth", decided: true, recovers: soon,
		what:    "The clock of the running Redis is set back by 2 s, and 0.7 s later set right.",
		bound:   "2N",
		why:     "While the log waits for the clock it admits no more than the limit; once the clock is right those hits look older than they are: twice the limit.",
		prepare: clockFromFile,
		fault:   setBackAndForth,
	},
	{
		name: "cut, slow and without scripts", short: true, lostConnections: true, recovers: reconnects,
		what: "10 to 20 ms are added each way while connections are cut 4 times and scripts are flushed 10 times.",
		why:  whyExact,
		fault: func(r *run) {
			together(
				func() {
					network(r, faultproxy.Faults{Latency: 10 * time.Millisecond, Jitter: 10 * time.Millisecond}, 600*time.Millisecond)
				},
				func() { cuts(r, 4, 150*time.Millisecond) },
				func() { flushScripts(r, 10, 60*time.Millisecond) },
			)
		},
	},
	{
		name: "killed, slow, without scripts, callers gone", short: true, lostConnections: true, uncounted: true, recovers: reconnects,
		what:    "Redis is killed and starts again 0.4 s later, empty, and then is flushed of its scripts 5 times, while 10 to 25 ms are added each way and some callers hang up after 15 ms.",
		bound:   "N + F",
		why:     whyWipe + " Those who left are charged.",
		streams: []*load.Stream{impatient(open), impatient(shut)},
		fault: func(r *run) {
			together(
				func() {
					network(r, faultproxy.Faults{Latency: 10 * time.Millisecond, Jitter: 15 * time.Millisecond}, 1200*time.Millisecond)
				},
				func() {
					killRedis(r, 400*time.Millisecond)
					flushScripts(r, 5, 60*time.Millisecond)
				},
			)
		},
	},
	{
		name: "Redis and a gateway killed", lostConnections: true, uncounted: true, recovers: reconnects,
		what:  "Redis is killed and restarted while a gateway is killed and replaced, and the network is slow.",
		bound: "N + F",
		why:   whyWipe,
		fault: func(r *run) {
			r.bed.proxy.Set(faultproxy.Faults{Latency: 5 * time.Millisecond, Jitter: 10 * time.Millisecond})
			dead := make(chan struct{})
			go func() {
				defer close(dead)
				time.Sleep(300 * time.Millisecond)
				killRedis(r, 600*time.Millisecond)
			}()
			killGateway(r)
			<-dead
			r.bed.proxy.Set(faultproxy.Faults{})
		},
	},
	{
		name: "anything at once", lostConnections: true, recovers: gaveUp,
		what:  "For 15 s, two at a time of: Redis stopped, flushed, without scripts, killed; the network slow, dripping, held, half-open, cut.",
		bound: "N + F",
		why:   whyWipe,
		fault: anything,
	},
	{
		name: "gateway killed", short: true, uncounted: true, recovers: again,
		what:  "kill -9 of one of the gateways; callers go to the others, and a new one joins.",
		why:   "Redis counts for all. What the dead gateway had charged without an answer counts, so less is admitted, never more.",
		fault: killGateway,
	},
}

// clockFile is what a Redis of clockFromFile reads its clock from.
func clockFile(r *run) string { return filepath.Join(r.bed.t.ArtifactDir(), "clock") }

// clockFromFile has Redis take its time from a file.
func clockFromFile(r *run) {
	setClock(r.T, clockFile(r), "+0")
	old := r.bed.redis
	r.bed.use(r.bed.newRedis(clockFile(r)))
	old.Stop()
	r.mend = append(r.mend, r.bed.renew)
}

func setBackAndForth(r *run) {
	const back = 2 * time.Second
	r.clocks = append(r.clocks, -back)
	setClock(r.T, clockFile(r), fmt.Sprintf("-%.3f", back.Seconds()))
	time.Sleep(700 * time.Millisecond)
	setClock(r.T, clockFile(r), "+0")
	r.stepped(-back)
	r.stepped(back)
}

// together does several things at a time. One that gives the test up ends only
// itself, and the test fails.
func together(things ...func()) {
	var all sync.WaitGroup
	for _, f := range things {
		all.Go(f)
	}
	all.Wait()
}

// anything makes faults at random, two at a time: one of Redis, one of the
// network.
func anything(r *run) {
	ofRedis := []func(){
		func() { stopRedis(r, 400*time.Millisecond) },
		func() { flushAll(r) },
		func() { flushScripts(r, 5, 50*time.Millisecond) },
		func() { killRedis(r, 300*time.Millisecond) },
	}
	ofNetwork := []func(){
		func() {
			network(r, faultproxy.Faults{Latency: 15 * time.Millisecond, Jitter: 30 * time.Millisecond}, 500*time.Millisecond)
		},
		func() { network(r, faultproxy.Faults{Rate: 1000}, 500*time.Millisecond) },
		func() { network(r, faultproxy.Faults{Hold: true}, 400*time.Millisecond) },
		func() { network(r, faultproxy.Faults{Lose: true}, 300*time.Millisecond) },
		func() { cuts(r, 3, 100*time.Millisecond) },
	}
	seed := rand.Uint64()
	r.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		together(ofRedis[random.IntN(len(ofRedis))], ofNetwork[random.IntN(len(ofNetwork))])
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
	}
}
