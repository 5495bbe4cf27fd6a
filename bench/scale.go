package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"sluice/bench/load"
	"sluice/internal/history"
	"sluice/internal/stack"
)

//go:embed wrk/one-limit.lua
var oneLimitLua []byte

// The plan of the design document: this many gateways with one limit for all of
// them, a second.
const (
	scaleGateways = 8
	scaleLimit    = 5000
	scaleConns    = 4    // of wrk to each gateway
	scalePause    = 8    // ms that each of wrk's paced connections waits
	pacedConns    = 8    // of wrk to each gateway then
	scaleOffered  = 6000 // requests a second of the constant rate
)

// scaleRow has the one limit, and tells when it decided.
var scaleRow = row{
	name:   "gateways with one limit",
	policy: `{"name":"tenant","key":"header:x-user-id","rate":"` + strconv.Itoa(scaleLimit) + `/s"}`,
	debug:  true, status: admitted, keys: 1,
}

// scaleResult is what gateways with one limit do together.
type scaleResult struct {
	Full   wrkScale   `json:"full"`  // as fast as it goes
	Paced  wrkScale   `json:"paced"` // somewhat above the limit
	Steady exactScale `json:"steady"`
	// Few is the same load on as many gateways as there are processors.
	Few exactScale `json:"few"`
	Ab  abResult   `json:"ab"`
}

// wrkScale is one load by wrk, one process for each gateway. Rates are a second.
type wrkScale struct {
	Offered  float64 `json:"offered"`
	Admitted float64 `json:"admitted"`
	P99      float64 `json:"p99_ms"`       // the worst gateway's
	Ops      float64 `json:"redis_ops"`    // total_commands_processed
	Commands float64 `json:"commands"`     // a request
	Redis    float64 `json:"redis_cores"`  // CPU of Redis
	Gateways float64 `json:"gateways_cpu"` // CPU of all gateways, cores
}

// exactScale is a load at a constant rate of which every admission is known by the
// time of Redis's clock at which it was decided.
type exactScale struct {
	Gateways int       `json:"gateways"`
	Offered  float64   `json:"offered"`
	Admitted float64   `json:"admitted"`
	Worst    int64     `json:"worst"` // most admitted in any second
	Load     latencies `json:"load"`
	RTT50    float64   `json:"rtt_p50_ms"`
	RTT99    float64   `json:"rtt_p99_ms"`
}

// accuracyError is how far the fullest second was from the limit, as a part of it.
func (e exactScale) accuracyError() float64 {
	return max(float64(e.Worst)/scaleLimit-1, 1-float64(e.Worst)/scaleLimit)
}

// scale starts the gateways, loads them in three ways, and stops them.
func (b *bed) scale(ctx context.Context, length time.Duration, say func(string, ...any)) (*scaleResult, error) {
	var gateways []*stack.Envoy
	say("starting %d gateways with one limit", scaleGateways)
	for i := range scaleGateways {
		e, err := b.startGateway(ctx, fmt.Sprintf("scale-%d", i), scaleRow)
		if err != nil {
			return nil, err
		}
		defer e.Stop()
		gateways = append(gateways, e)
	}
	script := filepath.Join(b.dir, "one-limit.lua")
	if err := os.WriteFile(script, oneLimitLua, 0o644); err != nil {
		return nil, err
	}
	r := &scaleResult{}
	var err error
	if r.Full, err = b.wrkScale(ctx, gateways, script, 0, scaleConns, length); err != nil {
		return nil, err
	}
	say("%d gateways, as fast as it goes: %.0f/s offered, %.0f/s admitted, %.0f Redis ops/s", scaleGateways, r.Full.Offered, r.Full.Admitted, r.Full.Ops)
	if r.Paced, err = b.wrkScale(ctx, gateways, script, scalePause, pacedConns, length); err != nil {
		return nil, err
	}
	say("%d gateways, paced: %.0f/s offered, %.0f/s admitted", scaleGateways, r.Paced.Offered, r.Paced.Admitted)
	if r.Steady, err = b.exactScale(ctx, gateways, length); err != nil {
		return nil, err
	}
	say("%d gateways, constant rate: %.0f/s offered, %.0f/s admitted, at most %d in a second, p99 %.2f ms", scaleGateways, r.Steady.Offered, r.Steady.Admitted, r.Steady.Worst, r.Steady.Load.P99)
	few := gateways[:min(len(gateways), runtime.NumCPU())]
	if r.Few, err = b.exactScale(ctx, few, length); err != nil {
		return nil, err
	}
	say("%d gateways, the same rate: %.0f/s admitted, at most %d in a second, p99 %.2f ms", len(few), r.Few.Admitted, r.Few.Worst, r.Few.Load.P99)
	r.Ab, err = b.ab(ctx)
	return r, err
}

// wrkScale runs a wrk for each gateway, all at once.
func (b *bed) wrkScale(ctx context.Context, gateways []*stack.Envoy, script string, pause, conns int, length time.Duration) (wrkScale, error) {
	run := func(length time.Duration) ([]wrkLoad, error) {
		loads, errs := make([]wrkLoad, len(gateways)), make([]error, len(gateways))
		var all sync.WaitGroup
		for i, e := range gateways {
			all.Go(func() {
				loads[i], errs[i] = runWrk(ctx, b.tools.wrk, script, e.URL(), pause, conns, length)
			})
		}
		all.Wait()
		for i, err := range errs {
			if err == nil && loads[i].Broken > 0 {
				err = fmt.Errorf("%d requests or connections failed", loads[i].Broken)
			}
			if err != nil {
				return nil, fmt.Errorf("gateway %d: %w", i, err)
			}
		}
		return loads, nil
	}
	if _, err := run(time.Second); err != nil {
		return wrkScale{}, err
	}
	before, err := b.scaleUsed(ctx, gateways)
	if err != nil {
		return wrkScale{}, err
	}
	start := time.Now()
	loads, err := run(length)
	if err != nil {
		return wrkScale{}, err
	}
	took := time.Since(start).Seconds()
	after, err := b.scaleUsed(ctx, gateways)
	if err != nil {
		return wrkScale{}, err
	}
	var s wrkScale
	var requests float64
	for _, l := range loads {
		requests += float64(l.Requests)
		s.Offered += float64(l.Requests) / (float64(l.Micros) / 1e6)
		s.Admitted += float64(l.Requests-l.Refused) / (float64(l.Micros) / 1e6)
		s.P99 = max(s.P99, float64(l.P99)/1e3)
	}
	commands := float64(after.commands.total - before.commands.total)
	s.Ops, s.Commands = commands/took, commands/requests
	s.Redis = (after.redis - before.redis).Seconds() / took
	s.Gateways = (after.envoy - before.envoy).Seconds() / took
	return s, nil
}

func (b *bed) scaleUsed(ctx context.Context, gateways []*stack.Envoy) (u used, err error) {
	if u.commands, err = redisCommands(ctx, b.redis); err != nil {
		return u, err
	}
	if u.redis, err = cpuTime(b.redis.Process().Pid()); err != nil {
		return u, err
	}
	for _, e := range gateways {
		t, err := cpuTime(e.Process().Pid())
		if err != nil {
			return u, err
		}
		u.envoy += t
	}
	return u, nil
}

// exactScale loads the gateways at a constant rate above the limit.
func (b *bed) exactScale(ctx context.Context, gateways []*stack.Envoy, length time.Duration) (_ exactScale, err error) {
	if b.urgentAll(true) == nil {
		defer func() {
			if again := b.urgentAll(false); err == nil {
				err = again
			}
		}()
	}
	var addrs []string
	for _, e := range gateways {
		addrs = append(addrs, address(e))
	}
	stop, err := startPing(b.redis.Addr, nil)
	if err != nil {
		return exactScale{}, err
	}
	p := plan{Length: length, Warm: 2 * time.Second}
	var times []history.Admission
	var wrong error
	result, err := load.Run(ctx, load.Options{
		Addrs: addrs, Rate: scaleOffered, Conns: 16 * scaleGateways / len(addrs), Warm: p.Warm / 2, Length: p.Length,
		Request: callers("bench", 1, "x-debug: "+debugSecret+"\r\n"),
		Each: func(a load.Answer) {
			if a.Status != admitted {
				return
			}
			text, _ := load.Field(a.Header, "x-sluice-at")
			at, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				wrong = fmt.Errorf("an admitted answer says %q for when it was decided", text)
			}
			times = append(times, history.Admission{At: at, Cost: 1})
		},
	})
	rtt, noPing := stop()
	err = errors.Join(err, noPing)
	if err == nil {
		err = wrong
	}
	if err == nil && result.Failed > 0 {
		err = fmt.Errorf("%d of %d requests failed", result.Failed, result.Due)
	}
	if err != nil {
		return exactScale{}, err
	}
	return exactScale{
		Gateways: len(gateways), Offered: scaleOffered, Admitted: float64(len(times)) / length.Seconds(),
		Worst: history.Worst(times, time.Second.Microseconds())[""].Units,
		Load:  latenciesOf(result, scaleOffered, p), RTT50: load.Ms(rtt, 50), RTT99: load.Ms(rtt, 99),
	}, nil
}
