package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/pauses"
)

// waits knows how long threads stood in the kernel's queue for a core: each
// gateway's workers, and Redis. A worker that doesn't run can't notice a
// deadline, and a Redis that doesn't run can't answer: on a machine that does
// other things too, that isn't the plugin's lateness.
type waits struct {
	mu      sync.Mutex
	files   map[int][]string // by gateway: schedstat of its threads
	samples map[int][]wait
	before  map[int]time.Duration // by earlier processes
}

// ofRedis is Redis among the gateways.
const ofRedis = -1

// wait is how long the threads have waited in all, at a time.
type wait struct {
	at  time.Time
	sum time.Duration
}

// every is how often the waits are read.
const every = 10 * time.Millisecond

// watchWaits samples until the test ends.
func watchWaits(t *testing.T) *waits {
	w := &waits{files: map[int][]string{}, samples: map[int][]wait{}, before: map[int]time.Duration{}}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(every):
				w.sample()
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		done.Wait()
	})
	return w
}

// watchPauses measures until the test ends.
func watchPauses(t *testing.T) *pauses.Log {
	l, err := pauses.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Log(err) // then nothing is taken off
		}
	})
	return l
}

// follow begins with a gateway's process, or Redis's, or with the next one in
// its place.
func (w *waits) follow(gateway, pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[gateway] = nil
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid)) // none: no allowance
	for _, name := range names {
		if comm, err := os.ReadFile(name); err == nil && (bytes.HasPrefix(comm, []byte("wrk:worker")) || bytes.HasPrefix(comm, []byte("redis-server"))) {
			w.files[gateway] = append(w.files[gateway], filepath.Join(filepath.Dir(name), "schedstat"))
		}
	}
	if s := w.samples[gateway]; len(s) > 0 {
		w.before[gateway] = s[len(s)-1].sum
	}
}

func (w *waits) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g, files := range w.files {
		x := wait{sum: w.before[g]}
		for _, f := range files {
			// Time on a core, time in the queue, both ns, and turns.
			text, err := os.ReadFile(f)
			fields := strings.Fields(string(text))
			if err != nil || len(fields) < 2 {
				continue
			}
			ns, _ := strconv.ParseInt(fields[1], 10, 64)
			x.sum += time.Duration(ns)
		}
		x.at = time.Now()
		w.samples[g] = append(w.samples[g], x)
	}
}

// between is how long a gateway's workers waited within a span.
func (w *waits) between(gateway int, from, to time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.samples[gateway]
	first := sort.Search(len(s), func(i int) bool { return s[i].at.After(from) }) - 1
	last := sort.Search(len(s), func(i int) bool { return !s[i].at.Before(to) })
	if len(s) == 0 {
		return 0
	}
	return max(0, s[min(last, len(s)-1)].sum-s[max(first, 0)].sum)
}

// starved reports whether the machine had so little time for someone, in some
// span of the timeout's length, that half of the timeout passed without them.
func (w *waits) starved(from, to time.Time) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for g, s := range w.samples {
		first := 0 // of a span of the timeout's length
		for i, x := range s {
			for s[first].at.Before(x.at.Add(-timeout)) {
				first++
			}
			if x.at.Before(from) || i == 0 || s[i-1].at.After(to) {
				continue
			}
			if gap := x.at.Sub(s[i-1].at) - every; gap > timeout/2 {
				return fmt.Sprintf("this program didn't run for %v", gap), true
			}
			if sum := x.sum - s[max(first-1, 0)].sum; sum > timeout/2 {
				who := fmt.Sprintf("gateway %d", g)
				if g == ofRedis {
					who = "Redis"
				}
				return fmt.Sprintf("%s waited %v for a core", who, sum), true
			}
		}
	}
	return "", false
}
