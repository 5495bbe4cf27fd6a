package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that a process has used so far, all its threads
// together, in user space and in the kernel: the sum of utime and stime in
// /proc/PID/stat, but to the nanosecond and not to a hundredth of a second.
func cpuTime(pid int) (time.Duration, error) {
	// A process's CPU clock has its complemented id above three bits of kind.
	const allThreads = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|allThreads), &ts); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// tick is the unit of times in /proc/stat.
const tick = 10 * time.Millisecond

// busyTime is the CPU time that all programs and the kernel have used so far, on
// all cores.
func busyTime() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(text)
}

// parseBusy reads the first line: cpu user nice system idle iowait irq softirq …
func parseBusy(text []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("/proc/stat starts with %q", line)
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// memory is how much of a process is in memory now (RSS), bytes.
func memory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm is %q", pid, text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}
