package observability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	backoff "sluice/clients/go"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

const (
	callers = 12
	perSec  = 4
	// Each rejection of a caller means that so many others got in since the one
	// before, as long as nobody comes back early. One more is for a hit that two
	// windows of a limit share, whose log is right to a thousandth.
	mostAttempts = (callers+perSec-1)/perSec + 1
)

// judge stands between clients and a gateway and notes when each caller was told
// to come back, and when it came.
type judge struct {
	url string

	mu       sync.Mutex
	until    map[string]time.Time // the earliest time that a caller may come back
	attempts map[string]int
	rejected int
	early    []string
}

func newJudge(t *testing.T, gateway *stack.Envoy, path string) *judge {
	t.Helper()
	target, err := url.Parse(gateway.URL())
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{until: map[string]time.Time{}, attempts: map[string]int{}}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = j.answered
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j.arrived(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	j.url = s.URL + path
	return j
}

func (j *judge) arrived(r *http.Request) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	caller := r.Header.Get("x-caller")
	j.attempts[caller]++
	if left := j.until[caller].Sub(now); left > 0 {
		j.early = append(j.early, fmt.Sprintf("%s came %v early", caller, left))
	}
}

// answered notes what the gateway says, before the client hears of it.
func (j *judge) answered(resp *http.Response) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if resp.StatusCode != http.StatusTooManyRequests {
		return nil
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return err
	}
	j.rejected++
	j.until[resp.Request.Header.Get("x-caller")] = time.Now().Add(time.Duration(seconds) * time.Second)
	return nil
}

// verdict fails the test unless all callers got in, none early, none with more
// attempts than it takes.
func (j *judge) verdict(t *testing.T, statuses []string) {
	t.Helper()
	if len(statuses) != callers {
		t.Errorf("%d callers of %d were answered", len(statuses), callers)
	}
	for _, s := range statuses {
		if s != "200" {
			t.Errorf("a caller was answered %s", s)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.early {
		t.Error(e)
	}
	if len(j.attempts) != callers {
		t.Errorf("%d callers came", len(j.attempts))
	}
	for caller, n := range j.attempts {
		if n > mostAttempts {
			t.Errorf("%s came %d times", caller, n)
		}
	}
	if j.rejected == 0 {
		t.Error("no request was rejected: the limit asked nothing of the clients")
	}
}

// The clients, each at a limit of its own.
func TestClients(t *testing.T) {
	e := stacktest.Gateway{
		Plugin:   policy(t, m{"name": "shared", "key": "path", "rate": fmt.Sprintf("%d/s", perSec)}),
		Redis:    stacktest.Redis(t, stack.RedisOptions{}).Addr,
		Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	t.Run("go", func(t *testing.T) { goCallers(t, newJudge(t, e, "/go")) })
	t.Run("python", func(t *testing.T) {
		j := newJudge(t, e, "/python")
		j.verdict(t, strings.Fields(python(t, "-c", pythonCallers, j.url, strconv.Itoa(callers))))
	})
}

func goCallers(t *testing.T, j *judge) {
	c := &http.Client{Transport: &backoff.Transport{}, Timeout: patience}
	statuses := make([]string, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			// A POST: 429 says that it was not carried out.
			req, err := http.NewRequest(http.MethodPost, j.url, strings.NewReader("order"))
			if err != nil {
				statuses[i] = err.Error()
				return
			}
			req.Header.Set("x-caller", fmt.Sprint("caller-", i))
			resp, err := c.Do(req)
			if err != nil {
				statuses[i] = err.Error()
				return
			}
			resp.Body.Close()
			statuses[i] = strconv.Itoa(resp.StatusCode)
		})
	}
	wg.Wait()
	j.verdict(t, statuses)
}

// pythonCallers asks once from each of many threads and prints the statuses.
const pythonCallers = `
import sys, threading, urllib.error, urllib.request
import backoff

def call(i):
    request = urllib.request.Request(sys.argv[1], data=b"order", headers={"x-caller": f"caller-{i}"})
    try:
        with backoff.urlopen(request, deadline=60) as response:
            status = response.status
    except urllib.error.HTTPError as error:
        status = error.code
    sys.stdout.write(f"{status}\n")  # one write: lines of threads stay whole

threads = [threading.Thread(target=call, args=(i,)) for i in range(int(sys.argv[2]))]
for t in threads: t.start()
for t in threads: t.join()
`

// python runs Python in the folder of its client.
func python(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("%v: install Python 3.9 or later (Debian: apt-get install python3)", err)
	}
	cmd := exec.Command(path, append([]string{"-B", "-W", "error"}, args...)...)
	cmd.Dir = filepath.Join(stacktest.Root(t), "clients", "python")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3 %.80s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestPythonUnits(t *testing.T) {
	if out := python(t, "-m", "unittest", "-v"); !strings.Contains(out, "\nOK") || strings.Contains(out, "Ran 0 tests") {
		t.Error(out)
	}
}

// The retry policy for gRPC clients is one that they take: they cut maxAttempts
// above 5 down.
func TestRetryPolicy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(stacktest.Root(t), "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindSubmatch(text)
	if block == nil {
		t.Fatal("the page has no service config")
	}
	var config struct {
		Methods []struct {
			Policy struct {
				Attempts   int      `json:"maxAttempts"`
				Initial    string   `json:"initialBackoff"`
				Max        string   `json:"maxBackoff"`
				Multiplier float64  `json:"backoffMultiplier"`
				Codes      []string `json:"retryableStatusCodes"`
			} `json:"retryPolicy"`
		} `json:"methodConfig"`
	}
	if err := json.Unmarshal(block[1], &config); err != nil || len(config.Methods) != 1 {
		t.Fatalf("%+v (%v)", config, err)
	}
	p := config.Methods[0].Policy
	for _, d := range []string{p.Initial, p.Max} {
		if v, err := time.ParseDuration(d); err != nil || v <= 0 {
			t.Errorf("%q: %v", d, err)
		}
	}
	if p.Attempts < 2 || p.Attempts > 5 || p.Multiplier <= 1 || !slices.Equal(p.Codes, []string{"RESOURCE_EXHAUSTED", "UNAVAILABLE"}) {
		t.Errorf("%+v", p)
	}
}
