package cookbook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/emulator"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// player plays a recipe's steps: it is the clients, the upstream, the clock and
// the proxy around the compiled plugin.
type player struct {
	t     *testing.T
	test  *Test
	vm    *emulator.VM
	redis *stack.Redis
	held  map[string][]*emulator.Request
}

// patience is how long anything may take in real time.
const patience = 10 * time.Second

// play runs one recipe from an empty Redis.
func play(t *testing.T, module []byte, redis *stack.Redis, r *Recipe) {
	flush(t, redis)
	p := &player{t: t, test: &r.Test, redis: redis, held: map[string][]*emulator.Request{}}
	addr := redis.Addr
	if r.Test.RedisAway {
		addr = nobody(t)
	}
	p.vm = emulator.Start(t, module, emulator.Config{
		Plugin:  p.configuration(r.Text),
		Now:     r.Test.Now,
		Env:     r.Test.Env,
		Bridges: map[string]string{"redis_pipe": addr},
	})
	for i := range r.Test.Steps {
		p.step(&r.Test.Steps[i])
	}
	for name := range p.held {
		p.t.Errorf("%s is held to the end", name)
	}
	p.complaints()
}

// configuration is the recipe as the plugin reads it. Two things differ from
// what the user wrote: time is the player's own, so that each figure is known
// beforehand, and a slow machine makes no decision late.
func (p *player) configuration(text string) string {
	p.t.Helper()
	if _, problems := yamlconfig.Parse([]byte(text)); len(problems) > 0 {
		for _, problem := range problems {
			p.t.Error(problem)
		}
		p.t.FailNow()
	}
	doc, problem := yamlconfig.Convert([]byte(text))
	if problem != nil {
		p.t.Fatal(problem)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc.JSON, &fields); err != nil {
		p.t.Fatal(err)
	}
	redis := map[string]json.RawMessage{}
	if raw := fields["redis"]; raw != nil {
		if err := json.Unmarshal(raw, &redis); err != nil {
			p.t.Fatal(err)
		}
	}
	redis["timeout"] = json.RawMessage(`"10s"`)
	fields["clock"] = json.RawMessage(`"gateway"`)
	fields["runtime_overrides"] = json.RawMessage("false") // Redis knows another time
	// No heartbeats: they would wait for Redis while the clock is moved.
	fields["gateways"] = json.RawMessage("1")
	var err error
	if fields["redis"], err = json.Marshal(redis); err != nil {
		p.t.Fatal(err)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(out)
}

func (p *player) step(s *Step) {
	p.t.Helper()
	switch {
	case s.Wait > 0:
		p.vm.Advance(s.Wait)
	case s.Finish != "":
		requests := p.held[s.Finish]
		if requests == nil {
			p.fatalf(s, "nothing is held as %s", s.Finish)
		}
		delete(p.held, s.Finish)
		for _, r := range requests {
			if !r.Forwarded() {
				p.fatalf(s, "%s is still held back", s.Finish)
			}
			p.answer(r, &s.Answer)
			if s.Expect.Result != "" {
				p.look(s, r)
			}
		}
	case s.Counts != nil:
		p.counts(s)
	case s.Keys != nil:
		p.keys(s)
	default:
		p.requests(s)
	}
}

// requests sends a step's requests and looks at what becomes of each.
func (p *player) requests(s *Step) {
	p.t.Helper()
	var open []*emulator.Request
	finish := func() {
		for _, r := range open {
			p.settled(s, r)
			passed := r.Forwarded()
			if passed && s.Hold == "" {
				p.answer(r, &s.Answer)
			}
			p.look(s, r)
			if !passed {
				r.Done()
			} else if s.Hold != "" {
				p.held[s.Hold] = append(p.held[s.Hold], r)
			}
		}
		open = open[:0]
	}
	for range max(s.Times, 1) {
		open = append(open, p.send(s))
		if !s.Together {
			finish()
		}
	}
	if s.Expect.Result == Held {
		p.held[s.Hold] = append(p.held[s.Hold], open...)
		return
	}
	finish()
}

// settled waits until Redis's word has come, and the delay that it asked for is
// over.
func (p *player) settled(s *Step, r *emulator.Request) {
	p.t.Helper()
	done := func() bool { return r.Forwarded() || r.LocalReply() != nil }
	switch {
	case p.test.RedisAway:
		for range 1000 {
			if done() {
				return
			}
			p.vm.Pump(time.Millisecond)
			p.vm.Advance(4 * time.Millisecond)
		}
	case s.Expect.Delay > 0:
		if done() {
			p.errorf(s, "is not held back")
			return
		}
		// The script is there and no other call is out: one reply comes.
		if p.vm.Pump(patience) == 0 {
			p.fatalf(s, "no reply from Redis")
		}
		if done() {
			p.errorf(s, "is not held back")
			return
		}
		p.vm.Advance(s.Expect.Delay - tick)
		if done() {
			p.errorf(s, "goes on before its delay is over")
		}
		p.vm.Advance(2 * tick)
	default:
		p.vm.PumpUntil(patience, done)
	}
	if !done() {
		p.fatalf(s, "is still held back")
	}
}

// tick is the step of the plugin's timer, which ends delays.
const tick = 4 * time.Millisecond

// answer is the end of a request that passed.
func (p *player) answer(r *emulator.Request, a *Answer) {
	if a.Gone {
		r.Cancel()
		return
	}
	if a.ByEnvoy {
		r.SetProperty([]byte("no_healthy_upstream"), "response", "code_details")
	}
	status := a.Status
	if status == 0 {
		status = 200
	}
	h := append(emulator.Headers{{":status", strconv.Itoa(status)}}, pairs(a.Headers)...)
	last := len(a.Body) == 0 && a.Trailers == nil
	r.RespondHeaders(h, last)
	for i, piece := range a.Body {
		last = i == len(a.Body)-1 && a.Trailers == nil
		r.RespondBody([]byte(piece), last)
	}
	if a.Trailers != nil {
		r.RespondTrailers(pairs(a.Trailers))
	}
	r.Done()
}

// counts looks at what the plugin has counted.
func (p *player) counts(s *Step) {
	p.t.Helper()
	p.vm.Tick() // tells the proxy what was summed up
	for name, want := range s.Counts {
		got := map[string]int64{}
		for _, outcome := range []string{"admitted", "rejected", "shadow_rejected", "tagged", "failed_open", "failed_closed"} {
			n := p.vm.Metric("limit=.=" + name + ";.;outcome=.=" + outcome + ";.;sluice_decisions_total")
			if n != 0 {
				got[outcome] = n
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			p.errorf(s, "%s: decisions counted: %s", name, d)
		}
	}
}

// keys looks at which counters there are.
func (p *player) keys(s *Step) {
	p.t.Helper()
	c := p.redis.Client()
	defer c.Close()
	var got []string
	for it := c.Scan(context.Background(), 0, "*", 100).Iterator(); it.Next(context.Background()); {
		got = append(got, it.Val())
	}
	sort.Strings(got)
	want := slices.Sorted(slices.Values(s.Keys))
	if d := cmp.Diff(want, got); d != "" {
		p.errorf(s, "keys in Redis: %s", d)
	}
}

// complaints fails the test for what the plugin or the proxy found wrong.
func (p *player) complaints() {
	p.t.Helper()
	if err := p.vm.Err(); err != nil {
		p.t.Fatal(err)
	}
	if p.test.RedisAway {
		return
	}
	const warn = 3
	for _, l := range p.vm.Logs() {
		if l.Level >= warn {
			p.t.Errorf("logged: %s", l.Message)
		}
	}
	for _, name := range p.vm.MetricNames() {
		if strings.Contains(name, "error") || strings.Contains(name, "panic") || strings.Contains(name, "unknown") {
			if n := p.vm.Metric(name); n != 0 {
				p.t.Errorf("%s is %d", name, n)
			}
		}
	}
}

func (p *player) errorf(s *Step, format string, args ...any) {
	p.t.Helper()
	p.t.Errorf("line %d: %s%s", s.line, s.Request, ": "+fmt.Sprintf(format, args...))
}

func (p *player) fatalf(s *Step, format string, args ...any) {
	p.t.Helper()
	p.errorf(s, format, args...)
	p.t.FailNow()
}

func flush(t *testing.T, r *stack.Redis) {
	t.Helper()
	c := r.Client()
	defer c.Close()
	if err := c.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return stack.Addr(port)
}

// release is the module as it is shipped.
func release(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(stacktest.Module(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
