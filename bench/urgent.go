package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// urgent puts a process into the scheduling class whose turn comes at once and lasts
// until it waits for something, or back among the others: each of its threads, and
// with them those that it will start.
//
// While latency is measured, the load generator, Redis and the application are in it.
// Each stands for a machine of its own; on the processor that they share here, one
// would else wait for another's turn, milliseconds at a time.
func urgent(pid int, on bool) error {
	attr := unix.SchedAttr{Policy: unix.SCHED_NORMAL}
	if on {
		attr = unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1}
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetAttr(id, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return fmt.Errorf("scheduling class of thread %d: %w", id, err)
		}
	}
	return nil
}

// urgentAll does so with all that a gateway works with.
func (b *bed) urgentAll(on bool) error {
	for _, pid := range b.around() {
		if err := urgent(pid, on); err != nil {
			return err
		}
	}
	return nil
}
