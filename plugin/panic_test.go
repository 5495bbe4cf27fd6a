package plugin

import (
	"fmt"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// panicky is a host whose n-th call, of those that a request makes, panics.
type panicky struct {
	*hosttest.Host
	armed bool
	left  int
}

func (p *panicky) count() {
	if !p.armed {
		return
	}
	if p.left--; p.left == 0 {
		panic("the host call that was chosen to fail")
	}
}

func (p *panicky) HeaderPairs(m host.Map) ([]byte, host.Status) {
	p.count()
	return p.Host.HeaderPairs(m)
}

func (p *panicky) HeaderValue(m host.Map, n string) (string, host.Status) {
	p.count()
	return p.Host.HeaderValue(m, n)
}

func (p *panicky) AddHeader(m host.Map, n, v string) host.Status {
	p.count()
	return p.Host.AddHeader(m, n, v)
}

func (p *panicky) ReplaceHeader(m host.Map, n, v string) host.Status {
	p.count()
	return p.Host.ReplaceHeader(m, n, v)
}

func (p *panicky) Property(path string) ([]byte, host.Status) {
	p.count()
	return p.Host.Property(path)
}

func (p *panicky) SetProperty(n string, v []byte) host.Status {
	p.count()
	return p.Host.SetProperty(n, v)
}

func (p *panicky) IncrementMetric(id uint32, n int64) host.Status {
	p.count()
	return p.Host.IncrementMetric(id, n)
}

func (p *panicky) RecordMetric(id uint32, v uint64) host.Status {
	p.count()
	return p.Host.RecordMetric(id, v)
}

func (p *panicky) OpenStream(c, s, m string) (uint32, host.Status) {
	p.count()
	return p.Host.OpenStream(c, s, m)
}

func (p *panicky) SendStream(t uint32, b []byte) host.Status {
	p.count()
	return p.Host.SendStream(t, b)
}

func (p *panicky) SetTick(ms uint32) host.Status {
	p.count()
	return p.Host.SetTick(ms)
}

// decisions is how many decisions were counted for a limit.
func (r *rig) decisions(limit string) (total int64) {
	for _, o := range outcomes {
		total += r.metric("limit=.=" + limit + ";.;outcome=.=" + o + ";.;sluice_decisions_total")
	}
	return total
}

// A panic anywhere in a request's life settles that request by on_error, once,
// and the next request is decided as usual.
func TestPanicAtAnyHostCallLosesNothing(t *testing.T) {
	for _, onError := range []string{"allow", "deny"} {
		for _, admit := range []int64{1, 0} {
			config := `{"limits":[{"name":"a","key":"header:x-user","rate":"5/s","on_error":"` + onError + `"}]}`
			for n := 1; ; n++ {
				name := fmt.Sprintf("%s, admitted %d, call %d", onError, admit, n)
				p := &panicky{Host: hosttest.New()}
				r := newRigOver(t, config, p, p.Host)
				p.armed, p.left = true, n
				x := r.request(get("/", "x-user", "u")...)
				if st := r.host.Streams.Last(); st != nil && len(st.Sent) > 0 {
					r.reply(decision(serverTime, admit, admit, 5-admit, 0, 900, 900*(1-admit)))
				}
				for range 20 {
					r.tick(4)
				}
				if !x.settled() {
					t.Fatalf("%s: neither resumed nor answered", name)
				}
				if total := r.decisions("a"); total > 1 {
					t.Fatalf("%s: the request counts %d times", name, total)
				}
				if x.passed() {
					x.respond()
				}
				spent := p.left <= 0
				p.armed = false
				panics := r.metric("sluice_panics_total")
				if spent && panics != 1 {
					t.Fatalf("%s: %d panics counted", name, panics)
				}
				r.tick(2000)
				y := r.request(get("/", "x-user", "u")...)
				if st := r.host.Streams.Last(); st == nil || len(st.Sent) == 0 || st.Cancelled {
					t.Fatalf("%s: the next request isn't sent: %+v, answer %+v", name, st, y.req.Answer)
				}
				r.reply(decision(serverTime, 1, 1, 1, 4, 900, 0))
				if !y.passed() {
					t.Fatalf("%s: the next request isn't decided", name)
				}
				if !spent {
					if n < 8 {
						t.Fatalf("a request makes only %d host calls: the test lost its grip", n)
					}
					break
				}
			}
		}
	}
}

// So does a panic while several requests share a call: each is settled once.
func TestPanicAtAnyHostCallOfABatch(t *testing.T) {
	for _, admit := range []int64{1, 0} {
		for n := 1; ; n++ {
			p := &panicky{Host: hosttest.New()}
			r := newRigOver(t, `{"limits":[{"name":"a","rate":"5/s","on_error":"deny"}]}`, p, p.Host)
			p.armed, p.left = true, n
			var all []*exchange
			for range 4 {
				all = append(all, r.request(get("/")...))
			}
			for range 8 {
				if st := r.host.Streams.Last(); st != nil && len(st.Sent) > 0 && !st.Cancelled {
					count := len(r.sent())
					for range count {
						r.reply(decision(serverTime, admit, admit, 5-admit, 0, 900, 900*(1-admit)))
					}
				}
			}
			for range 20 {
				r.tick(4)
			}
			for i, x := range all {
				if !x.settled() {
					t.Fatalf("admitted %d, call %d: request %d is neither resumed nor answered", admit, n, i)
				}
			}
			if p.left > 0 {
				if n < 20 {
					t.Fatalf("four requests make only %d host calls: the test lost its grip", n)
				}
				break
			}
		}
	}
}
