package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/internal/history"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// unavailable checks an answer of a limiter that can't decide and denies.
func unavailable(t *testing.T, a answer) {
	t.Helper()
	a.must(t, 503)
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || body.Error.Code != "LIMITER_UNAVAILABLE" {
		t.Errorf("body %q (%v)", a.body, err)
	}
	if got := a.header.Get("retry-after"); got != "1" {
		t.Errorf("retry-after %q", got)
	}
}

// onError are the policies of failure: the status that a request gets while
// Redis is away, and what the metric calls its decision.
var onError = []struct {
	policy  string
	status  int
	outcome string
}{
	{"deny", 503, "failed_closed"},
	{"allow", 200, "failed_open"},
}

// backToRedis waits until a request with a key of its own is decided by Redis.
func backToRedis(t *testing.T, e *stack.Envoy) {
	t.Helper()
	i := 0
	eventually(t, 15*time.Second, func() error {
		i++
		a := get(e.URL()+"/", fmt.Sprintf("probe-%d", i))
		if a.err != nil {
			return a.err
		}
		if mode := a.header.Get("x-sluice-mode"); a.status != 200 || mode != "redis" {
			return fmt.Errorf("answered %d in mode %q", a.status, mode)
		}
		return nil
	})
}

// Redis dies by kill -9 under load and comes back: every request is answered
// soon, by the failure policy while it is away and by Redis after.
func TestRedisKilledAndRestarted(t *testing.T) {
	for _, on := range onError {
		t.Run(on.policy, func(t *testing.T) {
			redis := stacktest.Redis(t, stack.RedisOptions{})
			gws := gateways(t, 2, stacktest.Gateway{
				Plugin: policy(t, m{"on_error": on.policy}, byKey("50/s")),
				Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
			})
			stop := make(chan struct{})
			answers := make(chan []answer)
			go func() {
				answers <- during(stop, 16, 2*time.Millisecond, func(i int) answer { return get(gws[i%2].URL()+"/", "k") })
			}()
			time.Sleep(1500 * time.Millisecond)
			redis.Kill()
			time.Sleep(100 * time.Millisecond) // what was under way is answered
			// Keys of their own: what Redis rejected is remembered for a while.
			inGap := times(40, 4, func(i int) answer { return get(gws[i%2].URL()+"/", fmt.Sprintf("gap-%d", i)) })
			time.Sleep(900 * time.Millisecond)
			if err := redis.Start(); err != nil {
				t.Fatal(err)
			}
			for _, e := range gws {
				backToRedis(t, e)
			}
			time.Sleep(1500 * time.Millisecond)
			close(stop)
			all := <-answers

			mustBeAnswered(t, all, soon, 200, 429, on.status)
			mustBeAnswered(t, inGap, soon, on.status)
			if on.policy == "deny" {
				unavailable(t, inGap[0])
			}
			// What Redis admitted in its two lives: each life keeps the limit.
			var decided []answer
			for _, a := range all {
				if a.header.Get("x-sluice-mode") == "redis" {
					decided = append(decided, a)
				}
			}
			for _, w := range history.Violations(admissions(t, decided), time.Second.Microseconds(), 50) {
				t.Errorf("%d were admitted from %d to %d us, and the limit is 50/s", w.Units, w.From, w.To)
			}
			for _, e := range gws {
				s := stats(t, e)
				if got := decisions(s, "key", on.outcome); got == 0 {
					t.Errorf("no decision counted as %s", on.outcome)
				}
				if got := s.Sum("sluice_pipe_reconnects_total", nil); got == 0 {
					t.Error("no reconnect was counted")
				}
				// A thousand a second would be an attack on a Redis that starts.
				attempts := s.Sum("envoy_cluster_upstream_cx_total", map[string]string{"envoy_cluster_name": "redis_pipe"})
				if attempts < 2 || attempts > 100 {
					t.Errorf("%v connections to Redis were tried", attempts)
				}
			}
		})
	}
}

// Redis hangs: every request is answered by the failure policy about when the
// timeout passes; when Redis goes on, decisions are its own again.
func TestRedisStalled(t *testing.T) {
	for _, on := range onError {
		t.Run(on.policy, func(t *testing.T) {
			redis := stacktest.Redis(t, stack.RedisOptions{})
			e := stacktest.Gateway{
				Plugin: policy(t, m{"on_error": on.policy, "redis": m{"cluster": "redis_pipe", "timeout": "20ms"}}, byKey("1000/hour")),
				Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr, Workers: 2,
			}.Start(t)
			backToRedis(t, e)
			if err := redis.Pause(); err != nil {
				t.Fatal(err)
			}
			answers := times(200, 10, func(int) answer { return get(e.URL()+"/", "k") })
			if err := redis.Resume(); err != nil {
				t.Fatal(err)
			}
			mustBeAnswered(t, answers, soon, on.status)
			if on.policy == "deny" {
				unavailable(t, answers[0])
			}
			if got := decisions(stats(t, e), "key", on.outcome); got < 200 {
				t.Errorf("%v decisions counted as %s", got, on.outcome)
			}
			backToRedis(t, e)
			// What timed out may count, never the other way round: replies that
			// came late must not be taken for those of later requests.
			first := get(e.URL()+"/", "k").must(t, 200).int(t, "x-ratelimit-remaining")
			second := get(e.URL()+"/", "k").must(t, 200).int(t, "x-ratelimit-remaining")
			fresh := get(e.URL()+"/", "fresh").must(t, 200).int(t, "x-ratelimit-remaining")
			if first < 799 || second != first-1 || fresh != 999 {
				t.Errorf("after the stall %d, then %d remain; %d of a fresh key", first, second, fresh)
			}
		})
	}
}

// Callers leave while Redis makes them wait: nothing of them stays behind, and
// the replies that come for them reach nobody else.
func TestCallerLeavesWhileHeld(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	e := stacktest.Gateway{
		Plugin: policy(t, nil, byKey("10/hour")), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	backToRedis(t, e)
	if err := redis.Pause(); err != nil {
		t.Fatal(err)
	}
	impatient := *client
	impatient.Timeout = 200 * time.Millisecond
	held := times(20, 20, func(int) answer {
		resp, err := impatient.Get(e.URL() + "/gone")
		if err == nil {
			resp.Body.Close()
		}
		return answer{err: err}
	})
	for _, a := range held {
		if a.err == nil {
			t.Error("a request was answered while Redis hung")
		}
	}
	patient := make(chan answer)
	go func() { patient <- get(e.URL()+"/", "patient") }()
	time.Sleep(200 * time.Millisecond)
	if err := redis.Resume(); err != nil {
		t.Fatal(err)
	}
	if got := (<-patient).must(t, 200).int(t, "x-ratelimit-remaining"); got != 9 {
		t.Errorf("the one who stayed was told that %d remain", got)
	}
	for i := range 10 {
		if got := get(e.URL()+"/", "next").must(t, 200).int(t, "x-ratelimit-remaining"); got != int64(9-i) {
			t.Fatalf("request %d was told that %d remain", i, got)
		}
	}
	get(e.URL()+"/", "next").must(t, 429)
	eventually(t, 5*time.Second, func() error {
		active := stats(t, e).Sum("envoy_http_downstream_rq_active", map[string]string{"envoy_http_conn_manager_prefix": "gateway"})
		if active != 0 {
			return fmt.Errorf("%v requests are still active", active)
		}
		return nil
	})
	if got := stats(t, e).Sum("sluice_panics_total", nil); got != 0 {
		t.Errorf("%v panics", got)
	}
	if e.Process().Ended() {
		t.Error("envoy ended")
	}
}
