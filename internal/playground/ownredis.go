package playground

import (
	"errors"
	"sync"

	"sluice/internal/stack"
)

// States of a Redis.
const (
	running = "running"
	paused  = "paused"
	stopped = "stopped"
)

var errNotRunning = errors.New("this Redis isn't running")

// OwnRedis is a Redis that was started for the occasion, for a page to break.
type OwnRedis struct {
	crashed chan<- *stack.Process

	mu    sync.Mutex
	redis *stack.Redis
	state string
	ended bool  // for good
	asked *bool // whether the process that runs was asked to end
}

// NewOwnRedis takes a running Redis over. A process of it that ends without
// being asked to is sent to crashed.
func NewOwnRedis(r *stack.Redis, crashed chan<- *stack.Process) *OwnRedis {
	o := &OwnRedis{redis: r, state: running, crashed: crashed}
	o.watch(r.Process())
	return o
}

// watch tells of a process that crashes. It is called with mu held, or before
// anyone else knows o.
func (o *OwnRedis) watch(p *stack.Process) {
	asked := new(bool) // each process has its own: the next one may run already
	o.asked = asked
	go func() {
		<-p.Done()
		o.mu.Lock()
		crashed := !*asked
		o.mu.Unlock()
		if crashed {
			o.crashed <- p
		}
	}()
}

// State is RedisServer's.
func (o *OwnRedis) State() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

// Pause makes Redis hang.
func (o *OwnRedis) Pause() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != running {
		return errNotRunning
	}
	if err := o.redis.Pause(); err != nil {
		return err
	}
	o.state = paused
	return nil
}

// Resume ends a Pause.
func (o *OwnRedis) Resume() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state != paused {
		return errors.New("this Redis isn't paused")
	}
	if err := o.redis.Resume(); err != nil {
		return err
	}
	o.state = running
	return nil
}

// Kill ends Redis as a crash would.
func (o *OwnRedis) Kill() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == stopped {
		return errNotRunning
	}
	o.state, *o.asked = stopped, true
	o.redis.Kill()
	return nil
}

// Start starts Redis again, empty.
func (o *OwnRedis) Start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return errors.New("sluice dev is stopping")
	}
	if o.state != stopped {
		return errors.New("this Redis runs already")
	}
	if err := o.redis.Start(); err != nil {
		return err
	}
	o.state = running
	o.watch(o.redis.Process())
	return nil
}

// End stops Redis for good.
func (o *OwnRedis) End() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended, *o.asked = true, true
	o.redis.Stop()
}
