package local

import (
	"sync"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
)

// locked makes one call of shared data after another, as the proxy does.
type locked struct {
	*hosttest.Host
	mu *sync.Mutex
}

func (l locked) SharedData(key string) ([]byte, uint32, host.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Host.SharedData(key)
}

func (l locked) SetSharedData(key string, v []byte, cas uint32) host.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Host.SetSharedData(key, v, cas)
}

// Four workers at once, on the same two counters: exactly the share is admitted,
// and exactly that is to be charged, once.
func TestWorkersInParallel(t *testing.T) {
	shared, mu := &hosttest.Shared{}, &sync.Mutex{}
	tight := &limit.Params{Limit: 2000, WindowMS: 3_600_000}
	wide := &limit.Params{Limit: 1 << 40, WindowMS: 3_600_000}
	var stores [4]*Store
	var admitted [4]int64
	var taken [4]map[string]int64
	var wg sync.WaitGroup
	for w := range stores {
		h := hosttest.New()
		h.Shared = shared
		s := New(locked{h, mu}, Options{})
		stores[w], taken[w] = s, map[string]int64{}
		wg.Go(func() {
			for i := range 3000 {
				cs := []Counter{counter("wide", limit.SlidingLog, wide, 1, 1), counter("tight", limit.SlidingLog, tight, 2, 1)}
				if s.Decide(epoch, cs) {
					admitted[w]++
				}
				if i%50 == 0 {
					s.TakePending(epoch, 8192, func(p *Pending) bool {
						taken[w][string(p.Key)] += p.Units
						return true
					})
				}
			}
		})
	}
	wg.Wait()
	n, gaveUp := int64(0), uint64(0)
	sum := pending(epoch, stores[:]...)
	for w := range stores {
		n += admitted[w]
		gaveUp += stores[w].Stats.GaveUp
		for k, units := range taken[w] {
			sum[k] += units
		}
	}
	if n > 1000 || n < 1000 && gaveUp == 0 {
		t.Errorf("%d of 1000 admitted, %d gave up", n, gaveUp)
	}
	// A unit that is taken between its charge and its return is charged too often,
	// never too seldom.
	if sum["tight"] < n || sum["wide"] < n || gaveUp == 0 && sum["tight"] != n {
		t.Errorf("%d admitted, to be charged %v", n, sum)
	}
	t.Logf("%d admitted, to be charged %v, %+v", n, sum, stores[0].Stats)
}
