package chaos

import (
	"net/http"
	"strings"
	"time"

	"sluice/chaos/faultproxy"
	"sluice/chaos/load"
	"sluice/internal/history"
)

// victim is the gateway that is killed.
const victim = 1

// killGateway kills a gateway. In the long form a new one takes its place under
// load; in the short one this comes last.
func killGateway(r *run) {
	g := r.bed.gateways[victim]
	r.killed[victim] = true
	g.envoy.Process().Kill()
	g.envoy = nil
	time.Sleep(100 * time.Millisecond) // callers find out for themselves
	r.bed.targets.Set(victim, "")
	if !*long {
		return
	}
	if g.start(r.bed.t, victim); g.envoy == nil {
		r.FailNow()
	}
	r.bed.waits.follow(victim, g.envoy.Process().Pid())
	r.bed.targets.Set(victim, g.envoy.URL())
}

// lowered is the hot keys' limit for a while.
const lowered = limit / 2

// changeLimit lowers the limit under load, and raises it again.
func changeLimit(r *run) {
	applied := func(limit int64) {
		waiting := map[int]bool{}
		for i := range r.bed.gateways {
			waiting[i] = true
		}
		if !r.load.Until(15*time.Second, func(a *load.Answer) bool {
			if a.Stream.Name == open && a.Int("X-Ratelimit-Limit") == limit {
				delete(waiting, a.Gateway)
			}
			return len(waiting) == 0
		}) {
			r.Fatalf("gateways %v didn't take the limit %d over", waiting, limit)
		}
	}
	r.bed.configure(policy(r, lowered))
	applied(lowered)
	time.Sleep(2 * window)
	r.bed.configure(policy(r, limit))
	applied(limit)
	r.check = func(_ []load.Answer, admitted []admission) { r.checkOwnLimit(admitted) }
}

// checkOwnLimit checks that each admission had room under the limit that its
// own gateway knew at that moment.
func (r *run) checkOwnLimit(admitted []admission) {
	under := 0
	for _, a := range admitted {
		own := a.Int("X-Ratelimit-Limit")
		if own != limit && own != lowered {
			r.Errorf("an admission says that its limit is %d", own)
		}
		if own != lowered {
			continue
		}
		under++
		until := some(admitted, func(b admission) bool { return b.at <= a.at && b.at > a.at-window.Microseconds() && b.key() == a.key() })
		if w := history.Worst(axis(until, byServer), window.Microseconds())[a.key()]; w.Units > lowered {
			r.Errorf("admitted as number %d of a window whose limit was %d", w.Units, lowered)
		}
	}
	if under == 0 {
		r.Error("nothing was admitted under the lowered limit")
	}
}

// panics are the callbacks in which the faulty gateway's module panics on
// request.
var panics = []string{"request", "reply", "response"}

// panicking are requests that ask for a panic; the other gateways don't know
// what they ask for.
func panicking(name string) *load.Stream {
	return &load.Stream{Name: "panicking " + name, Path: "/" + name, Rate: 40, Header: func(i int, set func(k, v string)) {
		set("X-Key", "panic"+time.Now().Format(time.StampNano))
		set("X-Debug", debugSecret)
		set("X-Sluice-Fault", panics[i%len(panics)])
	}}
}

// panicOnRequest checks what became of the requests that asked for a panic: each
// is answered by on_error, all others as ever.
func panicOnRequest(r *run) {
	r.ownPanics = true
	time.Sleep(700 * time.Millisecond)
	r.check = func(answers []load.Answer, _ []admission) {
		asked := 0
		for i := range answers {
			a := &answers[i]
			name, is := strings.CutPrefix(a.Stream.Name, "panicking ")
			if !is || a.Gateway != faulty {
				continue
			}
			asked++
			want, at := 200, panics[a.Index%len(panics)]
			// A panic about the answer is too late to refuse anything, and one
			// before any limit is known counts by the global on_error, deny.
			if at == "request" || at == "reply" && name == shut {
				want = 503
			}
			if a.Status != want {
				r.Errorf("a panic in %s: /%s answered %d, expected %d", at, name, a.Status, want)
			}
		}
		if asked == 0 {
			r.Error("no panic was asked for")
		}
		const counter = "sluice_panics_total"
		n := r.bed.stats(r.T)[faulty].Sum(counter, nil) - r.before[faulty].Sum(counter, nil)
		if int(n) != asked {
			r.Errorf("%v panics were counted, and %d were asked for", n, asked)
		}
	}
}

// impatient callers hang up before a slow Redis has answered.
func impatient(name string) *load.Stream {
	s := hot(name, "impatient", 60)
	s.Name = "impatient " + name
	s.Patience = 15 * time.Millisecond
	return s
}

// trapOnRequest has the faulty gateway's plugin end its virtual machine, while it
// holds requests for a slow Redis, and again as soon as it was started anew.
func trapOnRequest(r *run) {
	r.bed.proxy.Set(faultproxy.Faults{Latency: 30 * time.Millisecond})
	time.Sleep(150 * time.Millisecond)
	r.begun = time.Now()
	r.trap()
	r.bed.proxy.Set(faultproxy.Faults{})
	if !r.load.Until(reload+soon, func(a *load.Answer) bool {
		return a.Gateway == faulty && a.Sent.After(r.begun) && byRedis(a)
	}) {
		r.slow("died", "the machine wasn't started anew in %v", reload+soon)
	}
	r.again = time.Now()
	r.trap()
	r.check = func(answers []load.Answer, _ []admission) {
		held, fresh := 0, 0
		for i := range answers {
			if a := &answers[i]; diedWithTheMachine(r, a) {
				if a.Sent.Before(r.begun) {
					held++
				} else {
					fresh++
				}
			}
		}
		r.Logf("Envoy answered %d that were held, and %d that came later", held, fresh)
		if held+fresh == 0 {
			r.Error("nothing was concerned")
		}
	}
}

// trap sends the request that ends the machine.
func (r *run) trap() {
	req, err := http.NewRequest(http.MethodPost, r.bed.gateways[faulty].envoy.URL()+"/"+probe, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("X-Sluice-Fault", "trap")
	req.Header.Set("X-Key", "trap")
	resp, err := (&http.Client{Timeout: hang}).Do(req)
	if err != nil {
		r.Errorf("the request that ended the machine got no answer: %v", err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != 503 {
		r.Errorf("the request that was to end the machine got %d", resp.StatusCode)
	}
}

// diedWithTheMachine reports whether Envoy answered by itself, as it may: requests
// of the gateway whose machine died, that it held then or that came before the
// machine was started anew.
func diedWithTheMachine(r *run, a *load.Answer) bool {
	if a.Gateway != faulty || mode(a) != "" || a.Status < 400 || a.Sent.Before(r.begun.Add(-timeout-slack)) {
		return false
	}
	since := r.begun
	if !r.again.IsZero() && !a.Sent.Before(r.again.Add(-timeout-slack)) {
		since = r.again
	}
	late := a.Sent.Sub(since) > reload+soon || a.Received.Sub(a.Sent) > idleTimeout+soon
	if late {
		r.slow("died", "%s was sent %v after the machine died, and answered %d after %v", a.Stream.Path, a.Sent.Sub(since), a.Status, a.Received.Sub(a.Sent))
	}
	return true
}
