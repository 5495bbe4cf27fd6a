package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
	"sluice/internal/local"
)

// A panic at any host call of a divided request settles it once: of several slots,
// and of one beside limits of the gateway's own.
func TestPanicAtAnyHostCallOfADividedRequest(t *testing.T) {
	three := func(onError string) string {
		return strings.Replace(threeSlots(onError), `"limits":[`, `"limits":[{"name":"own","scope":"gateway","rate":"9/min"},`, 1)
	}
	one := func(onError string) string {
		return `{"gateways":1,"limits":[{"name":"own","scope":"gateway","rate":"9/min"},{"name":"b","key":"header:x-t","rate":"3/min","on_error":"` + onError + `"}]}`
	}
	for _, config := range []string{three("allow"), three("deny"), three("local"), one("allow"), one("deny"), one("local")} {
		for _, full := range []bool{false, true} {
			for n := 1; ; n++ {
				name := fmt.Sprintf("%s, full %v, call %d", config, full, n)
				p := &panicky{Host: hosttest.New()}
				r := newRigOver(t, config, p, p.Host)
				c := newNodes(r)
				if full {
					c.counters["rl:{b|1}:log1"] = 3
				}
				p.armed, p.left = true, n
				x := r.request(get("/", "x-u", "1", "x-t", "1")...)
				for range 20 {
					c.answerAll()
					r.tick(4)
				}
				if !x.settled() {
					t.Fatalf("%s: neither resumed nor answered", name)
				}
				if total := r.decisions("b"); total > 1 {
					t.Fatalf("%s: the request counts %d times", name, total)
				}
				spent := p.left <= 0
				p.armed = false
				x.end()
				for range 20 {
					c.answerAll()
					r.tick(4)
				}
				if !spent {
					if n < 12 {
						t.Fatalf("%s: the test lost its grip", name)
					}
					break
				}
			}
		}
	}
}

// Whatever happens to calls and clients, every divided request is settled once,
// no limit admits more than it says, and what isn't admitted is charged nowhere
// but where no reply came.
func TestDividedRequestsAreSettledOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, `{"gateways":1,"redis":{"topology":"cluster","timeout":"1s"},"limits":[
			{"name":"a","key":"header:x-u","rate":"5/min","on_error":"deny"},
			{"name":"b","key":"header:x-t","rate":"8/min","on_error":"deny"},
			{"name":"own","scope":"gateway","rate":"12/min"},
			{"name":"slots","algorithm":"concurrency","max":6,"on_error":"deny"}]}`)
		c := newNodes(r)
		type one struct {
			*exchange
			u, tn string
			gone  bool
		}
		var all []*one
		unsure := false
		step := func() {
			c.take()
			if len(c.calls) == 0 {
				r.tick(4)
				return
			}
			k := c.calls[rapid.IntRange(0, len(c.calls)-1).Draw(rt, "call")]
			for _, before := range c.calls {
				if before.stream == k.stream {
					k = before
					break
				}
			}
			switch rapid.IntRange(0, 9).Draw(rt, "reply") {
			case 0:
				c.answer(k, []byte("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"))
			case 1:
				if k.args[0] == "EVALSHA" {
					c.answer(k, []byte("-NOSCRIPT No matching script.\r\n"))
				}
			case 2:
				if rapid.IntRange(0, 5).Draw(rt, "cut") == 0 {
					unsure = true
					c.calls = slices.DeleteFunc(c.calls, func(o *nodeCall) bool {
						if o.stream == k.stream && rapid.Bool().Draw(rt, "carried out") {
							c.run(o)
						}
						return o.stream == k.stream
					})
					k.stream.Close(13)
					r.tick(4)
				}
			default:
				c.answer(k, c.run(k))
			}
		}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				u, tn := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(rt, "u"), rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "t")
				all = append(all, &one{exchange: r.request(get("/", "x-u", u, "x-t", tn)...), u: u, tn: tn})
			case 2, 3:
				step()
			case 4:
				if len(all) > 0 {
					o := all[rapid.IntRange(0, len(all)-1).Draw(rt, "who")]
					if !o.gone && !o.settled() {
						o.gone = true
						o.end()
						r.host.Enter(hosttest.RootID)
					}
				}
			}
		}
		for range 100 {
			if c.answerAll(); rapid.IntRange(0, 50).Draw(rt, "extra") == 0 {
				step()
			}
			r.tick(4)
		}
		users, tenants, passed := map[string]int64{}, map[string]int64{}, int64(0)
		gone := int64(0)
		for _, o := range all {
			switch {
			case o.gone:
				gone++
				continue
			case !o.settled():
				rt.Fatal("a request is still held")
			case o.passed():
				users[o.u]++
				tenants[o.tn]++
				passed++
			case o.req.Answer.Code != 429 && o.req.Answer.Code != 503:
				rt.Fatalf("answered %d", o.req.Answer.Code)
			}
		}
		for u, n := range users {
			if k := c.counters["rl:{a|"+u+"}:log1"]; n > 5 || k < n || !unsure && gone == 0 && k != n {
				rt.Fatalf("user %s: %d admitted of 5, %d counted", u, n, k)
			}
		}
		for tn, n := range tenants {
			if k := c.counters["rl:{b|"+tn+"}:log1"]; n > 8 || k < n || !unsure && gone == 0 && k != n {
				rt.Fatalf("tenant %s: %d admitted of 8, %d counted", tn, n, k)
			}
		}
		if passed > 12 {
			rt.Fatalf("%d of 12 admitted by the gateway", passed)
		}
		for _, o := range all {
			if !o.gone {
				o.end()
			}
		}
		for range 40 {
			c.answerAll()
			r.tick(4)
		}
		if n := c.total("slots"); n != 0 && !unsure {
			rt.Fatalf("%d slots are held by nobody", n)
		}
		for _, o := range all {
			if q := o.ctx.(*request); !q.pooled && q.refs != 0 {
				rt.Fatalf("a request is still referred to %d times", q.refs)
			}
		}
	})
}

// Whatever happens to shared calls and clients, limits of the gateway's own are
// exact and no slot stays held.
func TestSharedCallsBesideGatewayLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		onError := rapid.SampledFrom([]string{"deny", "allow", "local"}).Draw(rt, "on_error")
		topology := rapid.SampledFrom([]string{"single", "cluster"}).Draw(rt, "topology")
		r := newRig(t, `{"gateways":1,"redis":{"topology":"`+topology+`","timeout":"1s"},"limits":[
			{"name":"own","scope":"gateway","rate":"25/min"},
			{"name":"held","scope":"gateway","algorithm":"concurrency","max":8},
			{"name":"a","key":"header:x-u","rate":"6/min","on_error":"`+onError+`"}]}`)
		c := newNodes(r)
		var all []*exchange
		gone := map[*exchange]bool{}
		step := func() {
			if c.take(); len(c.calls) == 0 {
				r.tick(4)
				return
			}
			k := c.calls[0]
			switch rapid.IntRange(0, 11).Draw(rt, "reply") {
			case 0:
				c.answer(k, []byte("-CLUSTERDOWN The cluster is down\r\n"))
			case 1:
				if k.args[0] == "EVALSHA" {
					c.answer(k, []byte("-NOSCRIPT No matching script.\r\n"))
				}
			case 2:
				c.answer(k, []byte("-ERR broken\r\n"))
			case 3:
				if rapid.IntRange(0, 5).Draw(rt, "cut") == 0 {
					c.calls = slices.DeleteFunc(c.calls, func(o *nodeCall) bool { return o.stream == k.stream })
					k.stream.Close(13)
					r.tick(4)
				}
			default:
				c.answer(k, c.run(k))
			}
		}
		for range rapid.IntRange(1, 90).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0, 1, 2:
				u := rapid.SampledFrom([]string{"1", "2"}).Draw(rt, "u")
				all = append(all, r.request(get("/", "x-u", u)...))
			case 3, 4:
				step()
			case 5:
				if len(all) > 0 {
					x := all[rapid.IntRange(0, len(all)-1).Draw(rt, "who")]
					if !gone[x] {
						gone[x] = true
						x.end()
						r.host.Enter(hosttest.RootID)
					}
				}
			}
		}
		for range 60 {
			c.answerAll()
			r.tick(4)
		}
		passed := 0
		for _, x := range all {
			if !gone[x] && !x.settled() {
				rt.Fatal("a request is still held")
			}
			if x.settled() && x.passed() {
				passed++
			}
			if !gone[x] {
				x.end()
			}
		}
		for range 20 {
			c.answerAll()
			r.tick(4)
		}
		if passed > 25 {
			rt.Fatalf("%d of 25 admitted", passed)
		}
		for _, x := range all {
			if q := x.ctx.(*request); !q.pooled {
				rt.Fatalf("a request isn't free: %d refer to it", q.refs)
			}
		}
		// All eight slots are free: as many fit at once.
		left := local.Counter{
			Key: []byte("rl:{held|}:hold1"), Algorithm: limit.Concurrency, Params: &limit.Params{Limit: 8, WindowMS: 1, HoldMS: 300_000},
			Gateways: 1, Votes: true,
		}
		cs := []local.Counter{left}
		r.w.fallback.store.Decide(r.host.Now(), cs)
		if n := cs[0].Decision.Current; n != 0 {
			rt.Fatalf("%d slots are held by nobody", n)
		}
		if len(r.w.flights) != 0 {
			rt.Fatalf("%d flights are still noted", len(r.w.flights))
		}
	})
}
