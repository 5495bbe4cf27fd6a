package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// micro is a benchmark function of a package.
type micro struct {
	about   string
	pkg     string
	pattern string
}

// micros are the parts of a request that are measured by themselves.
var micros = []micro{
	{"encode a script call", "./redisproto", "^BenchmarkEncode$"},
	{"decode a script's reply for one limit, for three, and for one in two parts", "./redisproto", "^BenchmarkDecodeFlat"},
	{"match, keys, plan and call: two of ten limits", "./internal/engine", "^BenchmarkTenLimits$"},
	{"match: what the number of limits costs", "./internal/match", "^BenchmarkIndex$"},
	{"a request through the compiled module in the emulator", "./plugin/moduletest", "^BenchmarkRequest$"},
}

// microResult is a benchmark function's command and what it printed.
type microResult struct {
	micro   micro
	command string
	lines   []microLine
}

// microLine is one result.
type microLine struct {
	name    string
	ns      string // a request
	bytes   string // allocated
	mallocs string
}

// runMicros runs the benchmark functions, each for about length.
func runMicros(ctx context.Context, root string, length time.Duration, say func(string, ...any)) ([]microResult, error) {
	var results []microResult
	for _, m := range micros {
		args := []string{"test", "-run", "^$", "-bench", m.pattern, "-benchmem", "-benchtime", length.String(), m.pkg}
		result := microResult{micro: m, command: shown(args)}
		say("%s", result.command)
		text, err := goTest(ctx, root, args)
		if err != nil {
			return nil, err
		}
		if result.lines = parseMicros(text); len(result.lines) == 0 {
			return nil, fmt.Errorf("%s measured nothing:\n%s", result.command, text)
		}
		results = append(results, result)
	}
	return results, nil
}

func goTest(ctx context.Context, root string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", shown(args), err, out.Bytes())
	}
	return out.String(), nil
}

// shown is a command of go as a person types it.
func shown(args []string) string {
	parts := []string{"go"}
	for _, a := range args {
		if strings.ContainsAny(a, "^$*| ") {
			a = "'" + a + "'"
		}
		parts = append(parts, a)
	}
	return strings.Join(parts, " ")
}

var (
	microName  = regexp.MustCompile(`^Benchmark(\S+?)(-\d+)?\s+\d+\s`)
	microField = regexp.MustCompile(`([\d.]+) (ns/op|B/op|allocs/op)`)
)

// parseMicros reads what go test prints for benchmarks.
func parseMicros(text string) []microLine {
	var lines []microLine
	for line := range strings.Lines(text) {
		name := microName.FindStringSubmatch(line)
		if name == nil {
			continue
		}
		l := microLine{name: name[1]}
		for _, f := range microField.FindAllStringSubmatch(line, -1) {
			switch f[2] {
			case "ns/op":
				l.ns = round(f[1])
			case "B/op":
				l.bytes = f[1]
			case "allocs/op":
				l.mallocs = f[1]
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// round drops digits that say nothing: 123.4 is 123.
func round(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 100 {
		return text
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
