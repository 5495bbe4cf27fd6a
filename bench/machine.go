package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sluice/internal/stack"
)

// fact is a row of the table that says what was measured on what.
type fact struct{ name, value string }

// machine describes the machine and the versions.
func machine(ctx context.Context, t tools, root string) []fact {
	facts := []fact{
		{"date", time.Now().UTC().Format("2006-01-02 15:04 MST")},
		{"CPU", fmt.Sprintf("%s, %d cores", cpuModel(), runtime.NumCPU())},
		{"memory", memoryTotal()},
		{"kernel", kernel()},
		{"load average before", loadAverage()},
		{"Go", runtime.Version()},
		{"Redis", found(`v=(\S+)`, said(ctx, t.redis, "--version"))},
	}
	if t.envoy != "" {
		facts = append(facts,
			fact{"Envoy", found(`version: \w+/(\S+)`, said(ctx, t.envoy, "--version"))},
			fact{"wrk", found(`(\d+\.\d+\.\d+\S*)`, said(ctx, t.wrk, "-v"))})
	}
	if t.ab != "" {
		facts = append(facts, fact{"ab", found(`Version (\S+)`, said(ctx, t.ab, "-V"))})
	}
	if t.rateLimit != "" {
		facts = append(facts, fact{"envoyproxy/ratelimit", stack.RateLimitVersion})
	}
	if info, err := os.Stat(filepath.Join(root, stack.ModulePath)); err == nil {
		facts = append(facts, fact{"sluice.wasm", fmt.Sprintf("%.2f MB", float64(info.Size())/1e6)})
	}
	if commit := strings.TrimSpace(said(ctx, "git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12")); !strings.Contains(commit, " ") && commit != "" {
		facts = append(facts, fact{"commit", commit})
	}
	return facts
}

// said is what a short command prints, whatever its exit status: wrk -v exits
// with 1.
func said(ctx context.Context, bin string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The output says more than the exit status.
	out, _ := exec.CommandContext(ctx, bin, args...).CombinedOutput()
	return string(out)
}

// found is what the group of a pattern matches.
func found(pattern, text string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "unknown"
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range bytes.Lines(text) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return runtime.GOARCH
}

func memoryTotal() string {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.0f GB", float64(info.Totalram)*float64(info.Unit)/1e9)
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
