package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// urgent puts a process into the scheduling class whose turn comes at once and lasts
// until it waits for something, or back among the others: each of its threads, and
// with them those that it will start.
//
// While latency is measured, Redis and the application are in it. Each stands for a
// machine of its own; on the processor that they share here with the load generator,
// one would else wait for another's turn, milliseconds at a time.
func urgent(pid int, on bool) error {
	class := &unix.SchedAttr{Policy: unix.SCHED_NORMAL}
	if on {
		class = atOnce()
	}
	return eachThread(pid, func(id int) error { return unix.SchedSetAttr(id, class, 0) })
}

// urgentHere does so with the calling thread alone, which from then on runs on some
// processors only.
func urgentHere(on *unix.CPUSet) error {
	if err := unix.SchedSetaffinity(0, on); err != nil {
		return err
	}
	return unix.SchedSetAttr(0, atOnce(), 0)
}

// atOnce is the class.
func atOnce() *unix.SchedAttr { return &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1} }

// urgentAll does so with Redis and the application, which are busy for microseconds
// at a time. This program, which sends the load, and the service are in Go, whose
// runtime may wait for a thread of its own that would never get its turn then: they
// become the most important of the others.
func (b *bed) urgentAll(on bool) error {
	pids := []int{b.redis.Process().Pid(), b.application.Process().Pid()}
	if b.cluster != nil {
		for _, node := range b.cluster.Nodes {
			pids = append(pids, node.Process().Pid())
		}
	}
	for _, pid := range pids {
		if err := urgent(pid, on); err != nil {
			return err
		}
	}
	importance := 0
	if on {
		importance = -20
	}
	pids = []int{os.Getpid()}
	if b.service != nil {
		pids = append(pids, b.service.proc.Pid())
	}
	for _, pid := range pids {
		err := eachThread(pid, func(id int) error { return unix.Setpriority(unix.PRIO_PROCESS, id, importance) })
		if err != nil {
			return err
		}
	}
	return nil
}
