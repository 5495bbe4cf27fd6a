package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/chaos/faultproxy"
	"sluice/chaos/load"
	"sluice/internal/history"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// The limit that the load meets; recovery must take less than its window.
const (
	limit  = 150
	window = 3 * time.Second
	rate   = limit / 3 // a second
)

// hot are requests far above one key's limit.
func hot() *load.Stream {
	return &load.Stream{Name: "hot", Path: "/hot", Rate: 150, Header: func(_ int, set func(k, v string)) {
		set("X-Key", "hot")
		set("X-Debug", debugSecret)
	}}
}

// single are requests with a key of their own: they show who decides.
func single() *load.Stream {
	return &load.Stream{Name: "single", Path: "/single", Rate: 60, Header: func(i int, set func(k, v string)) {
		set("X-Key", fmt.Sprint(i))
		set("X-Debug", debugSecret)
	}}
}

// replicated starts a master and a replica that is in sync; users are lines of an
// ACL file of both.
func replicated(t *testing.T, users ...string) (master, replica *stack.Redis) {
	t.Helper()
	start := func(name string) *stack.Redis {
		return stacktest.Redis(t, stack.RedisOptions{Name: name, ACL: users, Args: []string{"--repl-diskless-sync-delay", "0"}})
	}
	master, replica = start("master"), start("replica")
	if err := replica.Follow(t.Context(), master); err != nil {
		t.Fatal(err)
	}
	return master, replica
}

// probeUser is who may only ask whether a server is the master.
const probeUser = "user probe on >probing -@all +role"

// Sentinel replaces the master under load, first because it dies, then because an
// operator asks for it. Gateways find the new master by themselves: no request is
// lost, the window's excess is bounded, and soon all decide by Redis again.
func TestSentinelReplacesTheMaster(t *testing.T) {
	first, second := replicated(t, "user default on nopass ~* &* +@all", probeUser)
	sentinels := stacktest.Sentinels(t, stack.SentinelOptions{Master: first}, 1)
	b := &sentinelBed{first: first, second: second}
	for i := range 2 {
		e := stacktest.Gateway{
			Name: fmt.Sprintf("envoy-%d", i), Redis: first.Addr, Upstream: stacktest.Upstream(t).Addr,
			Plugin: policy(t, m{"on_error": "local", "gateways": 2},
				m{"name": "hot", "match": m{"path": "/hot"}, "key": "header:x-key", "rate": fmt.Sprintf("%d/%v", limit, window)},
				m{"name": "single", "match": m{"path": "/single"}, "key": "header:x-key", "rate": "1000/s"}),
			Edit: func(c *envoyconfig.Config) {
				c.FollowMaster([]string{second.Addr, first.Addr}, "probe", "probing")
			},
		}.Start(t)
		byRedis(t, e, "/single")
		b.gateways = append(b.gateways, e)
	}
	b.only(t, first, second)

	t.Run("dies", func(t *testing.T) { b.change(t, second, first.Kill) })
	b.only(t, second, first)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	if err := first.Follow(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	// Sentinel leaves a master that only steps down alone for some 10 s, in which
	// there are two. Whoever asks for it makes an end of that, as docs/redis.md says.
	t.Run("steps down", func(t *testing.T) {
		b.change(t, first, func() {
			c := sentinels.Nodes[0].Client()
			defer c.Close()
			eventually(t, 30*time.Second, func() error { // it may not trust the replica yet
				return c.Do(t.Context(), "SENTINEL", "FAILOVER", stack.SentinelMaster).Err()
			})
			eventually(t, 30*time.Second, func() error { return isMaster(t, first) })
			old := second.Client()
			defer old.Close()
			for _, do := range [][]any{
				{"REPLICAOF", stack.Host, first.Port},
				{"CLIENT", "KILL", "TYPE", "normal"},
			} {
				if err := old.Do(t.Context(), do...).Err(); err != nil {
					t.Error(err)
				}
			}
		})
	})
	b.only(t, first, second)
}

// sentinelBed is two gateways before two servers.
type sentinelBed struct {
	first, second *stack.Redis
	gateways      []*stack.Envoy
}

// only wants connections to the master alone.
func (b *sentinelBed) only(t *testing.T, master, replica *stack.Redis) {
	t.Helper()
	for i, e := range b.gateways {
		eventually(t, 5*time.Second, func() error {
			if to, not := connections(t, e, master), connections(t, e, replica); to == 0 || not != 0 {
				return fmt.Errorf("gateway %d has %d connections to the master and %d to the replica", i, to, not)
			}
			return nil
		})
	}
}

// change makes next the master under load, by what begin begins.
func (b *sentinelBed) change(t *testing.T, next *stack.Redis, begin func()) {
	var urls []string
	waiting := map[int]bool{}
	for i, e := range b.gateways {
		urls = append(urls, e.URL())
		waiting[i] = true
	}
	l := load.Start(load.NewTargets(urls...), 20*time.Second, hot(), single())
	time.Sleep(window + time.Second)
	begun := time.Now()
	begin()
	eventually(t, 30*time.Second, func() error { return isMaster(t, next) })
	promoted := time.Now()
	if !l.Until(20*time.Second, func(a *load.Answer) bool {
		if a.Sent.After(promoted) && mode(a) == "redis" {
			delete(waiting, a.Gateway)
		}
		return len(waiting) == 0
	}) {
		t.Errorf("gateways %v didn't decide by Redis again", waiting)
	}
	recovered := time.Now()
	time.Sleep(window + time.Second)
	answers := l.Stop()

	gap := recovered.Sub(begun)
	worst, byMode := judge(t, answers)
	t.Logf("%d requests by mode %v; promoted after %v, all by Redis again %v later; fullest window %d of %d",
		len(answers), byMode, promoted.Sub(begun).Round(time.Millisecond), recovered.Sub(promoted).Round(time.Millisecond), worst, limit)
	// A local share starts empty where Redis's window may be full: in a gap shorter
	// than the window the excess is the limit's own, else the rate's.
	if excess := float64(worst - limit); excess > rate*max(gap, window).Seconds() {
		t.Errorf("the fullest window holds %v too many, and the gap was %v", excess, gap)
	}
	if d := recovered.Sub(promoted); d > window {
		t.Errorf("recovery took %v, more than the window of %v", d, window)
	}
}

// A master that is told to follow another keeps its connections, and answers
// READONLY on them: gateways leave it by themselves, without a health check too.
func TestMasterThatIsDemoted(t *testing.T) {
	for name, edit := range map[string]func(*envoyconfig.Config, []string){
		"health check": func(c *envoyconfig.Config, nodes []string) { c.FollowMaster(nodes, "", "") },
		"one address":  func(*envoyconfig.Config, []string) {},
	} {
		t.Run(name, func(t *testing.T) {
			old, next := replicated(t)
			way, err := faultproxy.Start(old.Addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(way.Close)
			e := stacktest.Gateway{
				Redis: way.Addr, Upstream: stacktest.Upstream(t).Addr, Workers: 2,
				Plugin: policy(t, m{"on_error": "deny"}, m{"name": "single", "key": "header:x-key", "rate": "1000/s"}),
				Edit:   func(c *envoyconfig.Config) { edit(c, []string{old.Addr, next.Addr}) },
			}.Start(t)
			byRedis(t, e, "/")
			for _, do := range []struct {
				on *stack.Redis
				as []any
			}{{next, []any{"REPLICAOF", "NO", "ONE"}}, {old, []any{"REPLICAOF", stack.Host, next.Port}}} {
				c := do.on.Client()
				if err := c.Do(t.Context(), do.as...).Err(); err != nil {
					t.Error(err)
				}
				c.Close()
			}
			way.Target(next.Addr) // for new connections; those that there are stay
			byRedis(t, e, "/")
			if got := get(t, e, "/", "last"); got.status != 200 {
				t.Errorf("%d", got.status)
			}
		})
	}
}

func isMaster(t *testing.T, r *stack.Redis) error {
	is, err := r.IsMaster(t.Context())
	if err == nil && !is {
		err = fmt.Errorf("%s isn't the master", r.Addr)
	}
	return err
}

// judge wants an answer by the limiter for each request. It returns the most that
// a window of the hot key held, whoever decided.
func judge(t *testing.T, answers []load.Answer) (worst int64, byMode map[string]int) {
	t.Helper()
	var admitted []history.Admission
	byMode = map[string]int{}
	for i := range answers {
		a := &answers[i]
		if a.Err != nil || len(a.Failed) > 0 || a.Status != 200 && a.Status != 429 {
			t.Errorf("a request for %s got %d: %v, before that %v", a.Stream.Path, a.Status, a.Err, a.Failed)
			continue
		}
		byMode[mode(a)]++
		if a.Stream.Name != "hot" || a.Status != 200 {
			continue
		}
		at := a.Int("X-Sluice-At")
		if at <= 0 {
			at = a.Received.UnixMicro()
		}
		admitted = append(admitted, history.Admission{At: at, Cost: 1})
	}
	for _, w := range history.Worst(admitted, window.Microseconds()) {
		worst = max(worst, w.Units)
	}
	if worst < limit {
		t.Errorf("the fullest window holds %d of %d: the load was too low to show anything", worst, limit)
	}
	return worst, byMode
}

// connections is how many a gateway's workers have to a server, by Envoy's account.
func connections(t *testing.T, e *stack.Envoy, r *stack.Redis) int {
	t.Helper()
	text, err := e.Admin.Get(t.Context(), "/clusters")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "redis_pipe::"+r.Addr+"::cx_active::")
	line, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(line)
	if !found || err != nil {
		t.Fatalf("Envoy doesn't say how many connections it has to %s: %v", r.Addr, err)
	}
	return n
}
