package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processors says which of the machine's processors a gateway has to itself while
// its latency is measured, and which are left for everything else: load, Redis,
// application, service and idle gateways. Were they shared, what a request waits for
// would mostly be another process's turn.
type processors struct {
	all, gateway, rest unix.CPUSet
	// ping are those from which PINGs come, at once; nil when they come from any, in
	// the kernel's usual turns.
	ping *unix.CPUSet
}

// divideProcessors takes the first processor for the gateway; ok is false when
// there is only one.
func divideProcessors() (p processors, ok bool, err error) {
	if err := unix.SchedGetaffinity(0, &p.all); err != nil {
		return p, false, fmt.Errorf("this program's processors: %w", err)
	}
	p.rest = p.all
	for i := 0; p.gateway.Count() == 0; i++ {
		if p.all.IsSet(i) {
			p.gateway.Set(i)
			p.rest.Clear(i)
		}
	}
	return p, p.rest.Count() > 0, nil
}

// pin lets a process run on some processors only: each of its threads, and with
// them those that it will start.
func pin(pid int, to *unix.CPUSet) error {
	return eachThread(pid, func(id int) error { return unix.SchedSetaffinity(id, to) })
}

// eachThread sets something about each thread that a process has now.
func eachThread(pid int, set func(thread int) error) error {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := set(id); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return fmt.Errorf("thread %d of process %d: %w", id, pid, err)
		}
	}
	return nil
}

// around are the processes that a gateway works with: this program, which sends the
// load, Redis, the application and the service.
func (b *bed) around() []int {
	pids := []int{os.Getpid(), b.redis.Process().Pid(), b.application.Process().Pid()}
	if b.cluster != nil {
		for _, node := range b.cluster.Nodes {
			pids = append(pids, node.Process().Pid())
		}
	}
	if b.service != nil {
		pids = append(pids, b.service.proc.Pid())
	}
	return pids
}

// pinAll does so with this program and everything that the bed runs.
func (b *bed) pinAll(to *unix.CPUSet) error {
	pids := b.around()
	for _, g := range b.gateways {
		pids = append(pids, g.Process().Pid())
	}
	for _, pid := range pids {
		if err := pin(pid, to); err != nil {
			return err
		}
	}
	return nil
}
