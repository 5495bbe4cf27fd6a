package plugin

import (
	"crypto/sha1"
	"encoding/hex"
	"sort"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
	"sluice/internal/override"
	"sluice/redisproto"
)

// controlled lets the rig's worker poll.
func (r *rig) controlled() *rig {
	r.w.control.nextAt = 0
	r.w.served = true
	return r
}

// operator is Redis as far as polls go: what operators set, and its clock.
type operator struct {
	set map[string]string // "<end ms> <spec>" by field
	at  func() int64      // us
}

func newOperator(h *hosttest.Host) *operator {
	return &operator{set: map[string]string{}, at: func() int64 { return h.Clock + 123_456 }}
}

// put sets an override for so many ms.
func (o *operator) put(field, spec string, forMS int64) {
	o.set[field] = strconv.FormatInt(o.at()/1000+forMS, 10) + " " + spec
}

// answer is what override.ReadScript returns.
func (o *operator) answer(digest string) []byte {
	now := o.at()
	var lines []string
	for field, value := range o.set {
		till, _, _ := strings.Cut(value, " ")
		if ms, _ := strconv.ParseInt(till, 10, 64); ms > now/1000 {
			lines = append(lines, field+" "+value)
		}
	}
	sort.Strings(lines)
	list := strings.Join(lines, "\n")
	sum := sha1.Sum([]byte(list))
	sha := hex.EncodeToString(sum[:])
	if sha == digest {
		list = ""
	}
	b := redisproto.AppendArray(nil, 4)
	b = redisproto.AppendBulkString(b, strconv.FormatInt(now, 10))
	b = redisproto.AppendBulkString(b, sha)
	b = append(b, ":0\r\n"...)
	return redisproto.AppendBulkString(b, list)
}

// serve answers what the rig sent: polls by the operator, all else by decide. It
// returns the decisions that were asked for.
func (r *rig) serve(o *operator, decide func(cmd []string) []byte) (asked [][]string) {
	for _, cmd := range r.sent() {
		switch {
		case cmd[0] == "EVAL" && strings.HasSuffix(cmd[3], ":{sluice}:set1"):
			r.reply(o.answer(cmd[4]))
		case cmd[0] == "EVAL" && strings.HasSuffix(cmd[3], ":beat1"):
			r.reply([]byte(":1\r\n"))
		default:
			asked = append(asked, cmd)
			r.reply(decide(cmd))
		}
	}
	return asked
}

// poll has the rig's worker poll, and answers.
func (r *rig) poll(o *operator) {
	r.t.Helper()
	before := r.w.control.polls
	for range 3 {
		r.tick(500)
		r.serve(o, nil)
		if r.w.control.polls != before {
			return
		}
	}
	r.t.Fatal("no poll was answered within 1.5 s")
}

const callerLimit = `{"redis":{"timeout":"1s"},"on_error":"allow","debug":{"when":{"header:x-debug":"yes"}},
	"limits":[{"name":"a","key":"header:x-u","rate":"20/min"}]}`

// admits answers a decision of one counter.
func admits(cmd []string) []byte { return decision(serverTime, 1, 1, 1, 19, 1000, 0) }

func TestBlockForATime(t *testing.T) {
	r := newRig(t, strings.Replace(callerLimit, `"1s"`, `"1s","retry":{"times":0}`, 1)).controlled()
	o := newOperator(r.host)
	o.put("a|mallory", "block", 59_400)
	r.poll(o)
	if n := r.metric("sluice_overrides"); n != 1 {
		t.Errorf("%d overrides in force", n)
	}
	x := r.request(get("/", "x-u", "mallory", "x-debug", "yes")...)
	if x.req.Answer == nil || x.req.Answer.Code != 429 {
		t.Fatalf("%+v", x.req.Answer)
	}
	if cmds := r.sent(); len(cmds) != 0 {
		t.Errorf("Redis was asked: %q", cmds)
	}
	for name, want := range map[string]string{
		"x-sluice-mode": "override", "x-sluice-override": "block", "x-sluice-limit": "a",
		"ratelimit-policy": `"a";q=20;w=60`, "ratelimit": `"a";r=0;t=59`, "retry-after": "59", "x-ratelimit-remaining": "0",
	} {
		if got := x.req.Answer.Header(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(string(x.req.Answer.Body), "Rate limit a blocks these requests for now. Retry in 59 s.") {
		t.Errorf("body %q", x.req.Answer.Body)
	}
	for name, want := range map[string]string{"sluice.mode": "override", "sluice.override": "block", "sluice.decision": "rejected", "sluice.limit": "a"} {
		if got := string(x.req.FilterState[name]); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if n := r.metric("mode=.=override;.;sluice_mode_total"); n != 1 {
		t.Errorf("mode override: %d", n)
	}
	if n := r.metric("limit=.=a;.;outcome=.=rejected;.;sluice_decisions_total"); n != 1 {
		t.Errorf("rejected: %d", n)
	}
	// Nobody else.
	y := r.request(get("/", "x-u", "alice")...)
	if asked := r.serve(o, admits); len(asked) != 1 || !y.passed() {
		t.Errorf("another caller: %q, %+v", asked, y.req.Answer)
	}
	if string(y.req.FilterState["sluice.override"]) != "" {
		t.Error("another caller is marked")
	}
	// It ends by itself while Redis is away, and no later than a tick after.
	r.away(true)
	r.tick(56_000)
	if x := r.request(get("/", "x-u", "mallory")...); x.req.Answer == nil || x.req.Answer.Code != 429 {
		t.Error("the block doesn't hold while Redis is away")
	}
	r.tick(4000)
	if x := r.request(get("/", "x-u", "mallory")...); !x.passed() {
		t.Error("the block goes on after its end")
	}
	if n := r.metric("sluice_overrides"); n != 0 {
		t.Errorf("%d overrides in force", n)
	}
}

// Of each kind: what is asked of Redis.
func TestWhatOverridesAsk(t *testing.T) {
	const config = `{"redis":{"timeout":"1s"},"on_error":"allow","hash_keys":false,"limits":[
		{"name":"a","match":{"path":"/a"},"key":"header:x-u","rate":"20/min","overrides":[{"when":{"header:x-u":"partner"},"unlimited":true}]},
		{"name":"two","match":{"path":"/two"},"rate":["5/s","100/hour"]},
		{"name":"slots","match":{"path":"/slots"},"algorithm":"concurrency","max":9,"key":"header:x-u"},
		{"name":"bucket","match":{"path":"/bucket"},"algorithm":"token_bucket","rate":"10/s"},
		{"name":"day","match":{"path":"/day"},"algorithm":"calendar","rate":"100/day","timezone":"Europe/Berlin"}]}`
	for _, x := range []struct {
		set        map[string]string
		path, user string
		want       string // keys, and the arguments of each counter, without indexes and the calendar's times
	}{
		{nil, "/a", "u", "rl:{a|u}:log1 0 1 20 60000"},
		{map[string]string{"a": "rate 50/min"}, "/a", "u", "rl:{a|u}:log1 0 1 50 60000"},
		{map[string]string{"a|u": "rate 50/min", "a": "block"}, "/a", "u", "rl:{a|u}:log1 0 1 50 60000"},
		{map[string]string{"a|v": "rate 50/min"}, "/a", "u", "rl:{a|u}:log1 0 1 20 60000"},
		{map[string]string{"a": "rate 50/s"}, "/a", "u", "rl:{a-1s|u}:log1 0 1 50 1000"},
		{map[string]string{"a": "rate 50/min 900/hour"}, "/a", "u", "rl:{a|u}:log1 rl:{a-1h|u}:log1 0 1 50 60000 0 1 900 3600000"},
		{map[string]string{"a": "shadow"}, "/a", "u", "rl:{a|u}:log1 1 1 20 60000"},
		{map[string]string{"a": "unlimited"}, "/a", "u", ""},
		{map[string]string{"a|partner": "rate 7/min"}, "/a", "partner", "rl:{a|partner}:log1 0 1 7 60000"},
		{map[string]string{"a|partner": "pool 7"}, "/a", "partner", "rl:{a|partner}:pool1 0 1 7 END"},
		{nil, "/a", "partner", ""},
		{map[string]string{"two": "rate 7/s"}, "/two", "", "rl:{two-1s|}:log1 0 1 7 1000"},
		{map[string]string{"two-1h": "rate 7/hour"}, "/two", "", "rl:{two-1s|}:log1 rl:{two-1h|}:log1 0 1 5 1000 0 1 7 3600000"},
		{map[string]string{"two-1h": "rate 7/hour", "two-1s": "rate 1/s"}, "/two", "", "rl:{two-1s|}:log1 rl:{two-1h|}:log1 0 1 1 1000 0 1 7 3600000"},
		{map[string]string{"two-1h": "rate 7/hour", "two": "rate 3/s"}, "/two", "", "rl:{two-1s|}:log1 0 1 3 1000"},
		{map[string]string{"two|": "pool 30"}, "/two", "", "rl:{two|}:pool1 0 1 30 END"},
		{map[string]string{"slots|u": "max 3"}, "/slots", "u", "rl:{slots|u}:hold1 0 1 3 300000"},
		{map[string]string{"bucket": "rate 20/s burst 99"}, "/bucket", "", "rl:{bucket|}:tok1 0 1 99 50000 1 1"},
		{map[string]string{"day": "rate 7/week"}, "/day", "", "rl:{day-7d|}:cal1 0 1 7 …"},
		// Malformed ones are skipped, and nothing else.
		{map[string]string{"a": "rate many", "two-1h": "rate 9/s", "slots": "rate 9/s", "bucket": "block now", "day": "pool x", "ghost": "block"}, "/a", "u", "rl:{a|u}:log1 0 1 20 60000"},
		{map[string]string{"slots": "pool 5"}, "/slots", "u", "rl:{slots|u}:hold1 0 1 9 300000"},
		{map[string]string{"two|x": "block"}, "/two", "", "rl:{two-1s|}:log1 rl:{two-1h|}:log1 0 1 5 1000 0 1 100 3600000"},
		{map[string]string{"two-1h": "block"}, "/two", "", "rl:{two-1s|}:log1 rl:{two-1h|}:log1 0 1 5 1000 0 1 100 3600000"},
		{map[string]string{"day": "rate 7/s"}, "/day", "", "rl:{day|}:cal1 0 1 100 …"},
	} {
		r := newRig(t, config).controlled()
		o := newOperator(r.host)
		end := ""
		for field, spec := range x.set {
			o.put(field, spec, 60_000)
			end, _, _ = strings.Cut(o.set[field], " ")
		}
		r.poll(o)
		q := r.request(get(x.path, "x-u", x.user)...)
		var got string
		for _, cmd := range r.serve(o, func(cmd []string) []byte {
			n, _ := strconv.Atoi(cmd[2])
			reply := []int64{serverTime, 1}
			for range n {
				reply = append(reply, 1, 1, 19, 1000, 0)
			}
			return decision(reply...)
		}) {
			n, _ := strconv.Atoi(cmd[2])
			got = strings.Join(cmd[3:3+n], " ")
			args := cmd[3+n+2:]
			for i := range n {
				size := len(args) / n
				if x.path == "/day" {
					args = args[:4]
					size = 4
				}
				got += " " + strings.Join(args[i*size+1:(i+1)*size], " ")
			}
		}
		if strings.Contains(x.want, ":pool1") {
			got = strings.ReplaceAll(got, end, "END")
		}
		if strings.HasSuffix(x.want, "…") {
			got += " …"
		}
		if got != x.want || !q.passed() {
			t.Errorf("%v: %s by %q: asked %q, want %q (%+v)", x.set, x.path, x.user, got, x.want, q.req.Answer)
		}
	}
}

// What several overrides leave of a list that somebody wrote by hand is counted
// and logged once, not each second.
func TestMalformedOverridesAreCountedOnce(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	o.put("a", "rate 9/min", 600_000)
	o.put("ghost", "block", 600_000)
	o.put("a|x", "nonsense", 600_000)
	for range 5 {
		r.poll(o)
	}
	if n := r.metric("sluice_override_errors_total"); n != 2 {
		t.Errorf("%d errors counted, want 2", n)
	}
	lines := 0
	for _, l := range r.host.Logs {
		if strings.Contains(l.Message, "is skipped") {
			lines++
			if strings.Contains(l.Message, "x") && strings.Contains(l.Message, "|x") {
				t.Errorf("a caller's key is in the log: %s", l.Message)
			}
		}
	}
	if lines != 2 {
		t.Errorf("%d lines: %v", lines, r.host.Logs)
	}
	if n := r.metric("sluice_overrides"); n != 1 {
		t.Errorf("%d overrides in force, want 1", n)
	}
}

// A pool has its modes: degraded while it lasts, degraded_exhausted after.
func TestModesOfAPool(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	o.put("a|u", "pool 1", 60_000)
	r.poll(o)
	x := r.request(get("/", "x-u", "u", "x-debug", "yes")...)
	r.serve(o, func([]string) []byte { return decision(serverTime, 1, 1, 1, 0, 59_000, 0) })
	x.respond()
	if !x.passed() || x.req.Header(host.ResponseHeaders, "x-sluice-mode") != "degraded" || string(x.req.FilterState["sluice.mode"]) != "degraded" {
		t.Errorf("while it lasts: %q, %q", x.req.Header(host.ResponseHeaders, "x-sluice-mode"), x.req.FilterState["sluice.mode"])
	}
	if got := x.req.Header(host.ResponseHeaders, "ratelimit-policy"); got != `"a";q=1` {
		t.Errorf("ratelimit-policy %q", got)
	}
	for range 2 { // by Redis, then from memory
		y := r.request(get("/", "x-u", "u", "x-debug", "yes")...)
		r.serve(o, func([]string) []byte { return decision(serverTime, 0, 0, 1, 0, 59_000, 59_000) })
		if y.req.Answer == nil || y.req.Answer.Code != 429 || y.req.Answer.Header("x-sluice-mode") != "degraded_exhausted" || y.req.Answer.Header("retry-after") != "59" {
			t.Errorf("after: %+v", y.req.Answer)
		}
	}
	for name, want := range map[string]int64{"degraded": 1, "degraded_exhausted": 2, "redis": 0, "memory": 0} {
		if n := r.metric("mode=.=" + name + ";.;sluice_mode_total"); n != want {
			t.Errorf("mode %s: %d, want %d", name, n, want)
		}
	}
}

// What Redis rejected under one rate says nothing about another, and neither do
// calls that are out.
func TestAChangeOfOverridesDropsWhatIsKnown(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	rejects := func([]string) []byte { return decision(serverTime, 0, 0, 20, 0, 50_000, 50_000) }
	r.poll(o)
	r.request(get("/", "x-u", "u")...)
	r.serve(o, rejects)
	if r.request(get("/", "x-u", "u")...); len(r.sent()) != 0 {
		t.Fatal("the rejection isn't remembered")
	}
	out := r.request(get("/", "x-u", "v")...) // its call is out during the change
	r.sent()
	o.put("a", "rate 40/min", 60_000)
	r.tick(900)
	for _, cmd := range r.sent() {
		if strings.HasSuffix(cmd[3], ":set1") {
			r.reply(admits(nil)) // the call before it in the pipe
			r.reply(o.answer(cmd[4]))
		}
	}
	if !out.passed() {
		t.Fatal("the call that was out is lost")
	}
	x := r.request(get("/", "x-u", "u")...)
	if asked := r.serve(o, admits); len(asked) != 1 || !x.passed() {
		t.Errorf("under the new rate: %q", asked)
	}
	// Shared calls: a request under the new rate doesn't join one under the old.
	first := r.request(get("/", "x-u", "w")...)
	delete(o.set, "a")
	cmds := r.sent()
	r.tick(900)
	for _, cmd := range r.sent() {
		if strings.HasSuffix(cmd[3], ":set1") {
			// Redis answers the poll first, as another worker's might come.
			c := r.w.control
			c.list, c.digest = "", ""
			c.apply(false)
		}
	}
	second := r.request(get("/", "x-u", "w")...)
	after := r.sent()
	if len(cmds) != 1 || len(after) != 1 || strings.Join(cmds[0][7:], " ") == strings.Join(after[0][7:], " ") {
		t.Errorf("calls %q and %q", cmds, after)
	}
	_, _ = first, second
}

// All workers of a gateway have a change within the bound, and one of them polls.
func TestOneWorkerPollsAndAllKnow(t *testing.T) {
	hosts := []*hosttest.Host{hosttest.New(), hosttest.New(), hosttest.New()}
	var rigs []*rig
	for i, h := range hosts {
		h.Shared = hosts[0].Shared
		r := newRigOver(t, callerLimit, h, h).controlled()
		r.host.Advance(int64(i) * 150_000)
		rigs = append(rigs, r)
	}
	for _, h := range hosts {
		h.Uptime, h.Clock = hosts[0].Uptime, hosts[0].Clock
	}
	o := newOperator(hosts[0])
	step := func() (polls int) {
		const ms = 50
		for i, r := range rigs {
			r.host.Advance(ms * 1000)
			if (r.host.Uptime/1000)%500/50 == int64(3*i) { // their ticks come at different times
				r.host.Enter(hosttest.RootID)
				r.w.OnTick()
				for _, cmd := range r.sent() {
					polls++
					r.reply(o.answer(cmd[4]))
				}
			}
		}
		return polls
	}
	for range 40 {
		step()
	}
	for round := range 20 {
		if round%2 == 0 {
			o.put("a", "block", 3_600_000)
		} else {
			delete(o.set, "a")
		}
		took, polls := int64(0), 0
		for ; took < 5000; took += 50 {
			know := 0
			for _, r := range rigs {
				if n, _ := r.w.engine.Overrides(); n == 1-round%2 {
					know++
				}
			}
			if know == len(rigs) {
				break
			}
			polls += step()
		}
		if took*1000 > controlWithinUS {
			t.Errorf("round %d: all knew after %d ms, and the bound is %d", round, took, controlWithinUS/1000)
		}
		if polls > 3 {
			t.Errorf("round %d: %d polls in %d ms", round, polls, took)
		}
		for range round { // another phase
			step()
		}
	}
	if controlWithinUS > 2_000_000 {
		t.Errorf("a change may take %d us", controlWithinUS)
	}
	// A worker of another configuration, or a new one, knows at once.
	late := hosttest.New()
	late.Shared, late.Uptime = hosts[0].Shared, hosts[0].Uptime
	o.put("a", "block", 3_600_000)
	for range 60 {
		step()
	}
	l := newRigOver(t, callerLimit, late, late)
	if x := l.request(get("/", "x-u", "u")...); x.req.Answer == nil {
		t.Error("a new worker's first request isn't blocked")
	}
}

// A failover is no fault of the overrides': nothing is counted or logged, what was
// known holds, and the next tick asks again.
func TestPollsDuringAFailover(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	o.put("a", "block", 60_000)
	r.poll(o)
	before := len(r.host.Logs)
	for _, reply := range []string{
		"-LOADING Redis is loading the dataset in memory\r\n", "-MASTERDOWN Link with MASTER is down\r\n",
		"-CLUSTERDOWN Hash slot not served\r\n", "-upstream failure\r\n",
	} {
		r.tick(1000)
		sent := 0
		for _, cmd := range r.sent() {
			if cmd[0] == "EVAL" && strings.HasSuffix(cmd[3], ":{sluice}:set1") {
				sent++
				r.reply([]byte(reply))
			}
		}
		if sent != 1 {
			t.Fatalf("%d polls before %q", sent, reply)
		}
	}
	if n := r.host.Metrics.Value("sluice_override_errors_total"); n != 0 || len(r.host.Logs) != before {
		t.Errorf("%d errors counted, logs %v", n, r.host.Logs[before:])
	}
	if x := r.request(get("/", "x-u", "u")...); x.req.Answer == nil {
		t.Error("the block is forgotten")
	}
	r.poll(o)
}

func TestHostilePollReplies(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	sha := strings.Repeat("a", 40)
	for _, reply := range []string{
		"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", "+OK\r\n", ":1\r\n", "*-1\r\n", "$-1\r\n", "*0\r\n",
		"*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n",
		"*4\r\n$1\r\n5\r\n$3\r\nabc\r\n:0\r\n$0\r\n\r\n",
		"*4\r\n$2\r\nno\r\n$40\r\n" + sha + "\r\n:0\r\n$0\r\n\r\n",
		"*4\r\n$2\r\n-5\r\n$40\r\n" + sha + "\r\n:0\r\n$0\r\n\r\n",
		"*4\r\n$16\r\n1764000000000000\r\n$40\r\n" + sha + "\r\n$1\r\n0\r\n$0\r\n\r\n",
		"*4\r\n$16\r\n1764000000000000\r\n$40\r\n" + sha + "\r\n:9\r\n$9\r\na\nb\n|\n \n \r\n",
	} {
		sent := 0
		for range 4 {
			r.tick(500)
			for range r.sent() {
				sent++
				r.reply([]byte(reply))
			}
		}
		if sent == 0 {
			t.Fatalf("no poll after %q", reply)
		}
	}
	if n := r.metric("sluice_panics_total"); n != 0 {
		t.Errorf("%d panics: %v", n, r.host.Logs)
	}
	if n := r.metric("sluice_override_errors_total"); n < 7 {
		t.Errorf("%d errors counted", n)
	}
	// And it still works.
	o := newOperator(r.host)
	o.put("a", "block", 60_000)
	r.poll(o)
	if x := r.request(get("/", "x-u", "u")...); x.req.Answer == nil {
		t.Error("not blocked")
	}
}

// At the bounds a list is compiled whole, and what is over them isn't read.
func TestAThousandOverrides(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	for i := range override.MaxEntries {
		o.put("a|"+strconv.Itoa(i), "rate "+strconv.Itoa(i)+"/min", 60_000)
	}
	r.poll(o)
	if n := r.metric("sluice_overrides"); n != override.MaxEntries {
		t.Fatalf("%d in force", n)
	}
	x := r.request(get("/", "x-u", "777")...)
	asked := r.serve(o, admits)
	if len(asked) != 1 || asked[0][9] != "777" || !x.passed() {
		t.Errorf("asked %q", asked)
	}
}

// While Redis is away each gateway spends its part of a pool, and nothing of it is
// charged in Redis afterwards.
func TestPoolWhileRedisIsAway(t *testing.T) {
	r := newRig(t, `{"gateways":2,"redis":{"retry":{"times":0}},"limits":[{"name":"a","key":"header:x-u","rate":"20/min","on_error":"local"}]}`).controlled()
	o := newOperator(r.host)
	o.put("a", "pool 6", 60_000)
	r.poll(o)
	r.away(true)
	admitted := 0
	for range 10 {
		x := r.request(get("/", "x-u", "1")...)
		if x.passed() {
			admitted++
		}
		if mode := string(x.req.FilterState["sluice.mode"]); mode != "local" {
			t.Fatalf("mode %q", mode)
		}
	}
	if admitted != 3 {
		t.Errorf("%d admitted, want the share of 6 for two gateways", admitted)
	}
	r.away(false)
	for range 100 {
		r.tick(100)
		for _, cmd := range r.sent() {
			switch {
			case cmd[0] == "PING":
				r.reply([]byte("+PONG\r\n"))
			case strings.HasSuffix(cmd[3], ":set1"):
				r.reply(o.answer(cmd[4]))
			default:
				t.Fatalf("charged %q", cmd)
			}
		}
	}
}

// Who doesn't want limits changed through Redis says so, and nothing is asked.
func TestWithoutRuntimeOverrides(t *testing.T) {
	r := newRig(t, strings.Replace(gatewayClock, `"clock"`, `"runtime_overrides":false,"gateways":1,"clock"`, 1)).controlled()
	o := newOperator(r.host)
	o.at = func() int64 { return r.host.Clock + 5_000_000 }
	if got := r.clockSent(o, "u"); got != us(r.host.Clock) {
		t.Errorf("time %q, want the gateway's", got)
	}
	for range 10 {
		r.tick(500)
		if cmds := r.sent(); len(cmds) != 0 {
			t.Fatalf("asked %q", cmds)
		}
	}
}

// A gateway whose limits are all its own may have no Redis: it never asks one.
func TestOwnLimitsAlonePollNothing(t *testing.T) {
	r := newRig(t, `{"limits":[{"name":"a","rate":"5/s","scope":"gateway"}]}`)
	if x := r.request(get("/a")...); !x.passed() {
		t.Fatal("not admitted")
	}
	for range 10 {
		r.tick(500)
		if st := r.host.Streams.Last(); st != nil {
			t.Fatal("opened a connection to Redis")
		}
	}
}
