package simulate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/accesslog"
)

// million is a log of a million lines in the combined format, a little out of
// order.
func million() []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(rng, 1.1, 1, 50_000)
	var b bytes.Buffer
	begin := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	for i := range 1_000_000 {
		at := begin.Add(time.Duration(i)*5*time.Millisecond + time.Duration(rng.IntN(4000))*time.Millisecond)
		c := zipf.Uint64()
		fmt.Fprintf(&b, "10.0.%d.%d - - [%s] \"%s /api/items/%d?page=%d HTTP/1.1\" %d %d \"https://example.com/\" \"Mozilla/5.0 (agent %d)\"\n",
			c>>8&255, c&255, at.Format("02/Jan/2006:15:04:05 -0700"), []string{"GET", "POST"}[rng.IntN(2)], rng.IntN(1000), i,
			[]int{200, 200, 404, 500}[rng.IntN(4)], rng.IntN(9000), c%300)
	}
	return b.Bytes()
}

const threeLevels = `
limits:
- {name: per-ip, key: ip, rate: 50/s, algorithm: fixed_window}
- {name: per-agent, key: header:user-agent, rate: 1000/hour}
- {name: api, match: {path: /api/*}, rate: 150/s, algorithm: token_bucket, burst: 150}
`

// BenchmarkMillionLines reads a million lines and decides each by three limits.
//
//	go test ./internal/simulate -run xxx -bench MillionLines -benchtime 1x
func BenchmarkMillionLines(b *testing.B) {
	text := million()
	_, server := redisServer(b)
	for name, s := range map[string]*Server{"scripts": server, "models": nil} {
		for limits, text2 := range map[string]string{"1 limit": "limits:\n- {name: per-ip, key: ip, rate: 50/s}\n", "3 limits": threeLevels} {
			b.Run(name+"/"+limits, func(b *testing.B) {
				cfg := configure(b, text2)
				for b.Loop() {
					l, err := accesslog.Open(context.Background(), []io.Reader{bytes.NewReader(text)}, accesslog.Options{})
					if err != nil {
						b.Fatal(err)
					}
					r := simulated(b, cfg, NewLog(l, true), Options{Server: s})
					if r.Runs[0].Requests != 1_000_000 {
						b.Fatalf("%d requests", r.Runs[0].Requests)
					}
					_ = l.Close()
				}
				b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds(), "lines/s")
			})
		}
	}
}
