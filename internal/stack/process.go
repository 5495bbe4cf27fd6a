package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a child in a process group of its own, with its output in a file.
type Process struct {
	Name string
	Log  string // path of the file that holds its output

	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; read it after done is closed
}

// command says what to start.
type command struct {
	name string   // what errors and log files call it
	bin  string   // path of the executable
	args []string // without the executable
	env  []string // added to this program's environment
	dir  string   // working directory; "" for this program's
	log  string   // path of the log; output is appended
	out  string   // path for the standard output alone; "" for the log
}

// start runs c. The process ends with this program whatever happens.
func (c command) start() (*Process, error) {
	log, err := openLog(c.log)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", c.name, err)
	}
	defer log.Close()
	cmd := exec.Command(c.bin, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if c.out != "" {
		out, err := openLog(c.out)
		if err != nil {
			return nil, fmt.Errorf("open the output of %s: %w", c.name, err)
		}
		defer out.Close()
		cmd.Stdout = out
	}
	cmd.SysProcAttr = ownGroup()
	p := &Process{Name: c.name, Log: c.log, cmd: cmd, done: make(chan struct{})}
	if err := onSpawner(cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// onSpawner runs f on a thread that lives as long as this program: the kernel
// sends a child its parent-death signal when the thread that made it ends.
func onSpawner(f func() error) error {
	result := make(chan error)
	spawner() <- func() { result <- f() }
	return <-result
}

var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Signal sends s to the process's whole group.
func (p *Process) Signal(s syscall.Signal) error {
	if p.Ended() {
		return fmt.Errorf("%s has ended", p.Name)
	}
	return syscall.Kill(-p.Pid(), s)
}

// Kill ends the process at once, as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	if err := p.Signal(syscall.SIGKILL); err == nil || errors.Is(err, syscall.ESRCH) {
		<-p.done
	}
}

// Stop asks the process to end and kills it when it takes too long.
func (p *Process) Stop() {
	if p.Ended() {
		return
	}
	_ = p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT) // it may be paused
	select {
	case <-p.done:
	case <-time.After(stopGrace):
	}
	p.Kill()
}

// endError describes how a process ended, with the last lines it wrote.
func (p *Process) endError() error {
	<-p.done
	how := "ended"
	if p.err != nil {
		how = p.err.Error()
	}
	return &EndedError{Name: p.Name, How: how, Tail: Tail(p.Log, 15)}
}

// EndedError is a server that ended by itself, before it was ready or later.
type EndedError struct {
	Name string
	How  string // for example "exit status 1"
	Tail string // the last lines of its log
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s ended (%s); the end of its log:\n%s", e.Name, e.How, e.Tail)
}

// waitReady polls ready every few milliseconds until it returns nil, the
// process ends, limit passes or ctx is done.
func (p *Process) waitReady(ctx context.Context, limit time.Duration, ready func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.endError()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", p.Name, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s isn't ready after %v: %w; the end of its log:\n%s", p.Name, limit, err, Tail(p.Log, 15))
		}
	}
}
