package edges

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// applied waits until a door describes its limits so, in ratelimit-policy, or, if
// policies ends with a semicolon, begins so.
func applied(t *testing.T, d *door, policies string) {
	t.Helper()
	client := newClient(false)
	defer client.CloseIdleConnections()
	eventually(t, func() error {
		a := d.send(t, call{key: uniqueKey(t), client: client})
		client.CloseIdleConnections()
		if a.err != nil {
			return a.err
		}
		if got := a.header.Get("ratelimit-policy"); got != policies && (!strings.HasSuffix(policies, ";") || !strings.HasPrefix(got, policies)) {
			return fmt.Errorf("ratelimit-policy is %s (status %d), expected %s", got, a.status, policies)
		}
		return nil
	})
}

// One number of a limit, under load on open connections: it takes effect without
// a lost request, a new connection or a lost count.
var numberDoor = watched("change-number", policy(nil, perKey("n", "100000/hour")))

func TestChangedNumberUnderLoad(t *testing.T) {
	applied(t, numberDoor, `"n";q=100000;w=3600`)
	key := uniqueKey(t)
	var dialed, admitted, refused atomic.Int64
	transport := &http.Transport{MaxIdleConnsPerHost: 10, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	client := &http.Client{Timeout: hang, Transport: transport}
	defer transport.CloseIdleConnections()
	url := numberDoor.url(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	const callers = 4
	for range callers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				req, err := call{key: key}.request(url)
				if err != nil {
					t.Error(err)
					return
				}
				switch a := roundTrip(client, req); {
				case a.err != nil:
					t.Errorf("a request was lost: %v", a.err)
					return
				case a.status == 200:
					admitted.Add(1)
				case a.status == 429:
					refused.Add(1)
				default:
					t.Errorf("answered %d", a.status)
				}
			}
		})
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		eventually(t, func() error {
			if !ok() {
				return fmt.Errorf("%s: %d admitted, %d refused", what, admitted.Load(), refused.Load())
			}
			return nil
		})
	}
	until("the start", func() bool { return admitted.Load() > 50 })
	numberDoor.reconfigure(t, policy(nil, perKey("n", "20/hour"))) // less than it has counted
	until("lowered", func() bool { return refused.Load() > 50 })
	at := admitted.Load()
	until("still lowered", func() bool { return refused.Load() > 100 })
	if got := admitted.Load(); got != at {
		t.Errorf("%d were admitted though more than the limit were before", got-at)
	}
	raised := at + 100
	numberDoor.reconfigure(t, policy(nil, perKey("n", fmt.Sprint(raised, "/hour"))))
	until("raised", func() bool { return admitted.Load() == raised })
	was := refused.Load()
	until("full", func() bool { return refused.Load() > was+20 })
	close(stop)
	wg.Wait()
	if got := admitted.Load(); got != raised {
		t.Errorf("%d were admitted in all, expected %d", got, raised)
	}
	if got := dialed.Load(); got != callers {
		t.Errorf("%d connections for %d callers", got, callers)
	}
}

// A changed window keeps what lies within both.
var windowDoor = watched("change-window", policy(nil, perKey("w", "10/min")))

func TestChangedWindow(t *testing.T) {
	applied(t, windowDoor, `"w";q=10;w=60`)
	key := uniqueKey(t)
	change := func(rate, seconds string) {
		t.Helper()
		windowDoor.reconfigure(t, policy(nil, perKey("w", rate)))
		applied(t, windowDoor, `"w";q=10;w=`+seconds)
	}
	hit := func(remain int) {
		t.Helper()
		if got := windowDoor.get(t, "/", key, 200).remaining(t); got != remain {
			t.Errorf("%d remain, expected %d", got, remain)
		}
	}
	for i := range 5 {
		hit(9 - i)
	}
	change("10/2min", "120")
	hit(4)
	change("10/30s", "30")
	hit(3)
	change("10/s", "1")
	time.Sleep(1200 * time.Millisecond) // to that window all of them are old
	hit(9)
	// Now to a window that begins before the hits which are gone.
	change("10/day", "86400")
	key = uniqueKey(t)
	hit(9)
	change("10/hour", "3600")
	hit(8)
}

// A shadow counts what it would have admitted, and enforces it from the change on.
var shadowDoor = watched("change-shadow", policy(nil, perKey("always", "1000/hour"), perKey("s", "3/hour", m{"shadow": true})))

func TestShadowToEnforced(t *testing.T) {
	applied(t, shadowDoor, `"always";q=1000;w=3600`)
	key := uniqueKey(t)
	for range 5 {
		shadowDoor.get(t, "/", key, 200)
	}
	shadowDoor.reconfigure(t, policy(nil, perKey("always", "1000/hour"), perKey("s", "3/hour")))
	applied(t, shadowDoor, `"always";q=1000;w=3600, "s";q=3;w=3600`)
	shadowDoor.get(t, "/", key, 429)
	shadowDoor.reconfigure(t, policy(nil, perKey("always", "1000/hour"), perKey("s", "8/hour", m{"shadow": true})))
	applied(t, shadowDoor, `"always";q=1000;w=3600`)
	if got := shadowDoor.get(t, "/", key, 200).remaining(t); got != 994 {
		t.Errorf("%d remain of the other limit", got)
	}
}

// Limits come and go; those that stay keep their counts, and so does one that
// comes back.
var membersDoor = watched("change-members", policy(nil, perKey("stays", "10/hour")))

func TestLimitAddedAndRemoved(t *testing.T) {
	applied(t, membersDoor, `"stays";q=10;w=3600`)
	key := uniqueKey(t)
	for range 3 {
		membersDoor.get(t, "/", key, 200)
	}
	both := policy(nil, perKey("comes", "2/hour"), perKey("stays", "10/hour"))
	const describes = `"comes";q=2;w=3600, "stays";q=10;w=3600`
	membersDoor.reconfigure(t, both)
	applied(t, membersDoor, describes)
	for _, status := range []int{200, 200, 429} {
		membersDoor.get(t, "/", key, status)
	}
	membersDoor.reconfigure(t, policy(nil, perKey("stays", "10/hour")))
	applied(t, membersDoor, `"stays";q=10;w=3600`)
	if got := membersDoor.get(t, "/", key, 200).remaining(t); got != 4 {
		t.Errorf("%d remain", got)
	}
	membersDoor.reconfigure(t, both)
	applied(t, membersDoor, describes)
	membersDoor.get(t, "/", key, 429)
	// Another algorithm starts empty.
	membersDoor.reconfigure(t, policy(nil, perKey("comes", "2/hour", m{"algorithm": "token_bucket"}), perKey("stays", "10/hour")))
	eventually(t, func() error {
		if a := membersDoor.send(t, call{key: key}); a.status != 200 {
			return fmt.Errorf("answered %d", a.status)
		}
		return nil
	})
}

// wrong is a configuration with several mistakes, and wrongPaths are where. Envoy
// remembers what it refused and doesn't try the same again, so each test has one
// of its own.
func wrong(name string) string {
	return `{"redis":{"cluster":""},"limits":[{"name":"Bad ` + name + `","key":"ip","rate":"5/min"},{"name":"b","key":"nothing","rate":"many","colour":"red"}],"on_eror":"allow"}`
}

var wrongPaths = []string{"redis.cluster", "limits[0].name", "limits[1].key", "limits[1].rate", "limits[1].colour", "on_eror"}

// mustReport waits until Envoy's log, from a length on, names every mistake.
func mustReport(t *testing.T, from int) {
	t.Helper()
	for _, path := range wrongPaths {
		eventually(t, func() error {
			if log := envoyLog(t)[from:]; !strings.Contains(log, "configuration: "+path) {
				return fmt.Errorf("the log doesn't report %s:\n%s", path, log)
			}
			return nil
		})
	}
}

// A wrong update is refused: all its mistakes are logged and counted, and the
// running configuration goes on with its counts, until a right one comes.
var refusedDoor = watched("change-refused", policy(nil, perKey("r", "4/hour")))

func TestRefusedUpdate(t *testing.T) {
	applied(t, refusedDoor, `"r";q=4;w=3600`)
	key := uniqueKey(t)
	for range 2 {
		refusedDoor.get(t, "/", key, 200)
	}
	errorsBefore := stats(t).Sum("sluice_config_errors_total", nil)
	from := len(envoyLog(t))
	refusedDoor.reconfigure(t, wrong(uniqueKey(t)))
	mustReport(t, from)
	for _, status := range []int{200, 200, 429} {
		refusedDoor.get(t, "/", key, status).limited(t)
	}
	if got := stats(t).Sum("sluice_config_errors_total", nil) - errorsBefore; got < float64(len(wrongPaths)) {
		t.Errorf("sluice_config_errors_total grew by %v", got)
	}
	refusedDoor.reconfigure(t, policy(nil, perKey("r", "5/hour")))
	applied(t, refusedDoor, `"r";q=5;w=3600`)
	refusedDoor.get(t, "/", key, 200)
	refusedDoor.get(t, "/", key, 429)
}

// A configuration that is wrong from the start: 500 until a right one comes,
// whatever the filter's failure_policy says.
func TestWrongAtStartByECDS(t *testing.T) {
	from := len(envoyLog(t))
	d := lateDoor(t, wrong(uniqueKey(t)))
	d.watch = true
	d.open(t)
	mustReport(t, from)
	eventually(t, func() error {
		if a := d.send(t, call{key: uniqueKey(t)}); a.err != nil || a.status != 500 {
			return a.not("500")
		}
		return nil
	})
	d.reconfigure(t, policy(nil, perKey("right", "1/hour")))
	applied(t, d, `"right";q=1;w=3600`)
	key := uniqueKey(t)
	d.get(t, "/", key, 200)
	d.get(t, "/", key, 429)
}

// Requests that are held while their configuration is replaced go on by the one
// that they began with.
var heldDoor = watched("change-held", policy(nil, perKey("queue", "1/250ms", m{"algorithm": "leaky_bucket", "burst": 10, "max_wait": "10s"})))

func TestHeldRequestsOutliveTheirConfiguration(t *testing.T) {
	applied(t, heldDoor, `"queue";`)
	key := uniqueKey(t)
	before := stats(t).Sum("sluice_panics_total", nil)
	var wg sync.WaitGroup
	url := heldDoor.url(t)
	start := time.Now()
	for range 5 { // held up to a second
		wg.Go(func() {
			req, err := call{key: key}.request(url)
			if err != nil {
				t.Error(err)
				return
			}
			if a := roundTrip(h1, req); a.err != nil || a.status != 200 {
				t.Errorf("a held request was answered %d (%v)", a.status, a.err)
			}
		})
	}
	eventually(t, func() error {
		if shared.upstream.count(key) == 0 {
			return fmt.Errorf("none has passed")
		}
		return nil
	})
	heldDoor.reconfigure(t, policy(nil, perKey("other", "1/hour")))
	applied(t, heldDoor, `"other";q=1;w=3600`)
	if took := time.Since(start); took > 900*time.Millisecond {
		t.Logf("the new configuration came after %v: this run shows little", took)
	}
	wg.Wait()
	if got := stats(t).Sum("sluice_panics_total", nil); got != before {
		t.Errorf("%v panics", got-before)
	}
}

// What was charged by a configuration that is gone is settled all the same.
var (
	goneLimit = perKey("gone", "10/hour", m{"settle": m{"refund_on": m{"status": "5xx"}}})
	goneDoor  = watched("change-settled", policy(nil, goneLimit))
	goneProbe = look("change-settled-probe", goneLimit)
)

func TestSettledAfterTheChange(t *testing.T) {
	applied(t, goneDoor, `"gone";q=10;w=3600`)
	key := uniqueKey(t)
	url := goneDoor.url(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			req, err := call{key: key, do: "wait:" + key}.request(url)
			if err != nil {
				t.Error(err)
				return
			}
			if a := roundTrip(h1, req); a.err != nil || a.status != 500 {
				t.Errorf("answered %d (%v)", a.status, a.err)
			}
		})
	}
	eventually(t, func() error {
		if n := shared.upstream.count(key); n != 3 {
			return fmt.Errorf("%d requests are at the upstream", n)
		}
		return nil
	})
	goneProbe.remains(t, call{key: key}, 7)
	goneDoor.reconfigure(t, policy(nil, perKey("new", "1/hour")))
	applied(t, goneDoor, `"new";q=1;w=3600`)
	shared.upstream.release(key)
	wg.Wait()
	goneProbe.remains(t, call{key: key}, 10)
}
