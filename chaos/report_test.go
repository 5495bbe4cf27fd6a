package chaos

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack/stacktest"
)

// row is a fault with the worst of what its rounds measured.
type row struct {
	*scenario
	measured
	rounds int
}

func (r *row) add(m measured) {
	r.rounds++
	r.requests += m.requests
	r.left += m.left
	r.resent += m.resent
	r.byEnvoy += m.byEnvoy
	r.open += m.open
	r.closed += m.closed
	r.lost.got += m.lost.got
	r.late += m.late
	r.byServer = r.byServer.worst(m.byServer)
	r.byWall = r.byWall.worst(m.byWall)
	r.recovered = r.recovered.worst(m.recovered)
	r.latest = r.latest.worst(m.latest)
	r.admits = max(r.admits, m.admits)
}

// fact is a line that says what was measured on what.
type fact struct{ name, value string }

// machine describes the machine and the versions.
func machine(t *testing.T) []fact {
	t.Helper()
	load, _ := os.ReadFile("/proc/loadavg") // elsewhere than on Linux there is none
	info, err := os.Stat(stacktest.Module(t))
	if err != nil {
		t.Fatal(err)
	}
	return []fact{
		{"date", time.Now().UTC().Format("2006-01-02 15:04 MST")},
		{"machine", fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, found(`(\d+\.\d+\.\d+)`, said("uname", "-r")))},
		{"load average before", strings.Join(append(strings.Fields(string(load)), "?", "?", "?")[:3], " ")},
		{"Go", runtime.Version()},
		{"Envoy", found(`version: \w+/(\S+)`, said(stacktest.EnvoyBinary(t), "--version"))},
		{"Redis", found(`v=(\S+)`, said(stacktest.RedisBinary(t), "--version"))},
		{"sluice.wasm", fmt.Sprintf("%.2f MB", float64(info.Size())/1e6)},
		{"commit", strings.TrimSpace(said("git", "-C", stacktest.Root(t), "describe", "--always", "--dirty", "--abbrev=12"))},
	}
}

// said is what a short command prints.
func said(bin string, args ...string) string {
	out, err := exec.Command(bin, args...).Output()
	if err != nil {
		return "unknown"
	}
	return string(out)
}

// found is what the group of a pattern matches.
func found(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "unknown"
}

// writeReport writes the report; every bound in it was asserted by this run.
func writeReport(t *testing.T, path string, facts []fact, rows []*row, took time.Duration) {
	t.Helper()
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	ms := func(d time.Duration) string {
		return fmt.Sprintf("%.0f", float64(d)/float64(time.Millisecond))
	}
	line(head, limit, window.Milliseconds(), timeout.Milliseconds(), retryAfter.Milliseconds(), rounds())
	for _, f := range facts {
		line("- %s: %s", f.name, f.value)
	}
	line("- took: %.0f s", took.Seconds())
	line(columns, limit)
	line("| fault | requests | lost | failed open | failed closed | window, Redis's clock | window, wall clock | the bound | by Redis again, ms | a full key admits again, ms | held at most, ms | late |")
	line("|-|-:|-:|-:|-:|-:|-:|-|-:|-:|-:|-:|")
	for _, r := range rows {
		line("| [%s](#%s) | %d | %d | %d | %d | %d ≤ %d | %d ≤ %d | %s | %s ≤ %s | %s ≤ %s | %s ≤ %s | %d |",
			r.name, anchor(r.name), r.requests, r.lost.got, r.open, r.closed,
			r.byServer.got, r.byServer.bound, r.byWall.got, r.byWall.bound,
			cmp.Or(r.bound, "N"), ms(r.recovered.got), ms(r.recovered.bound), ms(r.admits), ms(r.admitsWithin()),
			ms(r.latest.got), ms(r.latest.bound), r.late)
	}
	line("\n## The faults, and why the bounds")
	for _, r := range rows {
		line("\n### %s\n\n%s\n\n%s", r.name, r.what, r.why)
		if r.resent > 0 {
			line("\n%d attempts met the dead gateway and were made again at another one.", r.resent)
		}
		if r.byEnvoy > 0 {
			line("\n%d requests were answered by Envoy itself.", r.byEnvoy)
		}
		if r.left > 0 {
			line("\n%d callers hung up.", r.left)
		}
	}
	if err := os.WriteFile(filepath.Join(stacktest.Root(t), path), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const head = "# Reliability\n\n" +
	"<!-- Written by `make chaos`: change chaos/ instead. -->\n\n" +
	"What callers get while Redis, the network or a gateway breaks, measured on real processes by one command, which asserts every bound below:\n\n" +
	"```\nmake chaos\n```\n\n" +
	"## In short\n\n" +
	"- **No request is lost.** Each gets an answer, and the plugin holds none for longer than `redis.timeout`, or where a connection was lost, once more and `retry.after`. Only where a gateway itself dies others must answer, and what a plugin held whose virtual machine died ends by Envoy's `stream_idle_timeout`.\n" +
	"- **More than the limit is admitted only by what was forgotten.** With a limit of N, Redis admits in no window more than N + F: F is what it had admitted there and forgot, when it restarted empty or a replica took over that hadn't heard of it. F is at most N a loss, and 0 where Redis only hangs or can't be reached. " +
	"Where its clock jumps ahead, J comes on top, the most that was admitted in any time as long as the jump.\n" +
	"- **What happens without Redis is your choice**, a limit at a time. `on_error: deny` admits nothing, and an attacker who takes Redis down has locked callers out, not got in. `allow` admits everything meanwhile: for limits that protect nobody. " +
	"`local`, the default, has each gateway admit its share of the limit, N in all: a window that spans the outage's begin or end holds at most N more, those within it at most N.\n" +
	"- **It ends by itself.** Nobody has to do anything; the table says how soon.\n\n" +
	"What an attacker could gain at most is thus a window or two of a limit each time he makes Redis forget. Limits that must survive that, such as quotas of a month, want a Redis that keeps its data ([redis.md](redis.md#memory-and-persistence)).\n\n" +
	"## Method\n\n" +
	"Three gateways (Envoy with `envoy.yaml`; one of two workers, two of one worker) share a Redis behind a TCP proxy that can misbehave. " +
	"Two of them run the module that is shipped; the third runs the same source built with the tag `faults`, which panics on request and is otherwise the same. " +
	"The last rows are of two gateways before a Redis Cluster of three masters, through Envoy's redis_proxy, with a third hot key whose requests need two hash slots.\n\n" +
	"The load is open-loop, 320 requests a second at random times over kept connections, to the gateways in turn: two keys far above their limit of %d in %d ms, one with `on_error: allow` and one with `deny`, and requests with a key of their own, which show who decides. " +
	"`redis.timeout` is %d ms, so that only a fault can use it up on a busy machine, and `retry` is once after %d ms. " +
	"Before each fault the windows fill; after it, the load goes on until the windows that span its end have passed. Each fault is made %d times; a row shows the round that came closest to its bound, and the sums of what is counted. " +
	"A round in which the machine had no core for a gateway or for Redis during half a timeout is made again when something came late in it, and so is, once, a round in which a single thing did; lost requests and full windows count in every round.\n\n" +
	"Each answer carries the time of its decision by Redis's clock (`x-sluice-at`). A history checker, which knows nothing of how the limiter counts, finds the trailing window that holds the most admissions. " +
	"That time must lie between the request and its answer, so a reply that was taken for another request's would be found. By a wall clock means the same time, less what Redis's clock is known to be off.\n\n" +
	"Admissions by `on_error: allow` are counted by themselves, as failed open: Redis didn't decide them. What the gateways' metrics say was failed open and closed must equal what callers saw.\n"

const columns = `
## Bounds and what was measured

- **lost**: requests without an HTTP answer. None.
- **failed open, failed closed**: answered by on_error, while there was a reason.
- **the bound**: of a window. N is the limit (%d here), F what Redis forgot, J what was admitted in a time as long as a clock's jump; the numbers beside it are of this run.
- **window**: the most that Redis admitted in any window of a key, and the bound. What it forgot comes on top of the limit, and no more; in each life of its own, and in all that it didn't forget, it keeps the limit.
- **by Redis again**: from the fault's end until the last gateway decided by Redis. The bound is the longest wait between two attempts to connect (1 s), where connections were lost, and between two probes of an open breaker (0.5 s), and 0.5 s in which each gateway gets requests. After it not one request was decided without Redis.
- **a full key admits again**: the same for a key that is always full; its window may have to pass.
- **held at most**: the longest that the plugin held a request, by its own clock. The bound is redis.timeout and 8 ms; where connections were lost, retry.after and redis.timeout more. While a worker waits for a core it can't notice a deadline: the time that the kernel says it did is taken off, and so is what the machine's host took from a core when the deadline came, which a thread of the highest priority measures there.
- **late**: requests held longer. None.
`

// anchor is a heading as a link's target.
func anchor(name string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(name))
}
