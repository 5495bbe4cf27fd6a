package simulate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"sync/atomic"
	"time"

	"sluice/internal/engine"
	"sluice/redisproto"
)

const (
	batchCalls = 256
	maxBatches = 8 // that are out at once
)

// longer is by how much keys outlive what the scripts want, milliseconds:
// Redis's clock goes on by itself, and a second of the simulated one may take it
// many.
const longer = "3600000"

// patience is how long a run may take, so that no key expires under it.
const patience = 50 * time.Minute

var (
	setExpiry  = regexp.MustCompile(`'PX',`)
	keepExpiry = regexp.MustCompile(`call\('PEXPIRE',([A-Za-z.]+),`)
)

// patient is a script whose keys live longer. All else is as it is.
func patient(source string) string {
	source = setExpiry.ReplaceAllString(source, "'PX',"+longer+"+")
	return keepExpiry.ReplaceAllString(source, "call('PEXPIRE',$1,"+longer+"+")
}

// batch is a number of calls that go out together.
type batch struct {
	calls []*pending
	text  []byte
	err   error
}

// scripts decides by the scripts in a Redis. Calls go out in the order in which
// they come, over one connection, many at once.
type scripts struct {
	engine *engine.Engine
	conn   *conn
	sha    string
	server Server
	begun  time.Time

	id     []byte
	open   *batch
	out    int
	write  chan *batch // to the writer
	sent   chan *batch // from the writer to the reader
	back   chan *batch // from the reader
	stop   func() bool // of the context's watch
	quit   atomic.Bool // the run is given up
	done   []*pending
	handed []*pending
	spare  []*batch
}

// randomPrefix is a prefix for keys that nothing else has.
func randomPrefix() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return "sluice-simulate-" + hex.EncodeToString(b[:])
}

// newScripts connects to a Redis and loads the engine's script.
func newScripts(ctx context.Context, s Server, e *engine.Engine) (*scripts, error) {
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	d := &scripts{
		engine: e, conn: c, server: s, begun: time.Now(),
		open: new(batch), write: make(chan *batch, maxBatches), sent: make(chan *batch, maxBatches), back: make(chan *batch, maxBatches),
	}
	d.sha, err = c.call("SCRIPT", "LOAD", patient(e.Script().Source))
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("the Redis at %s: %w", s.Addr, err)
	}
	// A run that is given up waits a little for what is out: a call that Redis
	// carries out later would leave a key behind.
	d.stop = context.AfterFunc(ctx, func() {
		d.quit.Store(true)
		_ = c.SetDeadline(time.Now().Add(quitTimeout))
	})
	go d.writer()
	go d.reader()
	return d, nil
}

func (d *scripts) writer() {
	defer close(d.sent)
	for b := range d.write {
		b.err = d.conn.SetDeadline(time.Now().Add(replyTimeout))
		if d.quit.Load() { // asked last, so that it can't be missed
			b.err = d.conn.SetDeadline(time.Now().Add(quitTimeout))
		}
		if b.err == nil {
			_, b.err = d.conn.Write(b.text)
		}
		d.sent <- b
	}
}

func (d *scripts) reader() {
	defer close(d.back)
	for b := range d.sent {
		for _, p := range b.calls {
			if b.err != nil {
				break
			}
			var v redisproto.Value
			if v, b.err = d.conn.reply(); b.err == nil {
				p.read(v)
			}
		}
		d.back <- b
	}
}

// decide is decider.
func (d *scripts) decide(p *pending) error {
	b := d.open
	d.id = p.requestID(d.id[:0])
	start := len(b.text)
	b.text = p.dec.AppendCommand(b.text, d.id, p.at)
	// The script's name stands near the beginning, behind EVALSHA.
	if i := bytes.Index(b.text[start:], shaHead); i >= 0 {
		copy(b.text[start+i+len(shaHead):], d.sha)
	}
	b.calls = append(b.calls, p)
	if len(b.calls) < batchCalls {
		return nil
	}
	return d.submit()
}

var shaHead = []byte("\r\n$40\r\n")

// submit sends the open batch; with enough of them out it waits for the oldest.
func (d *scripts) submit() error {
	if len(d.open.calls) == 0 {
		return nil
	}
	if time.Since(d.begun) > patience {
		return DecideError("the run takes more than " + patience.String() + ", and counters would expire: run it on a part of the input, or with --models")
	}
	for d.out >= maxBatches {
		if err := d.wait(); err != nil {
			return err
		}
	}
	d.write <- d.open
	d.out++
	d.open = new(batch)
	if n := len(d.spare); n > 0 {
		d.open, d.spare = d.spare[n-1], d.spare[:n-1]
	}
	for d.out > 0 {
		select {
		case b := <-d.back:
			if err := d.took(b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// wait waits for the oldest batch.
func (d *scripts) wait() error { return d.took(<-d.back) }

func (d *scripts) took(b *batch) error {
	d.out--
	if b.err != nil {
		return fmt.Errorf("the Redis at %s: %w", d.server.Addr, b.err)
	}
	d.done = append(d.done, b.calls...)
	*b = batch{calls: b.calls[:0], text: b.text[:0]}
	d.spare = append(d.spare, b)
	return nil
}

// flush is decider.
func (d *scripts) flush() error {
	if err := d.submit(); err != nil {
		return err
	}
	for d.out > 0 {
		if err := d.wait(); err != nil {
			return err
		}
	}
	return nil
}

func (d *scripts) take() []*pending {
	d.handed, d.done = d.done, d.handed[:0]
	return d.handed
}

// close waits for what is out and ends the connection. The keys are deleted by
// clean.
func (d *scripts) close() error {
	close(d.write)
	for range d.back {
	}
	d.stop()
	return d.conn.Close()
}
