package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed load.lua
var loadLua []byte

// connections is how many requests are always under way, where a row says nothing else.
const connections = 32

// wrkLoad is what wrk tells: load.lua writes it. Times are microseconds.
type wrkLoad struct {
	Requests int64 `json:"requests"`
	Micros   int64 `json:"us"`      // how long it took
	Broken   int64 `json:"broken"`  // connections and requests that failed
	Refused  int64 `json:"refused"` // answers of status 400 or above
	P50      int64 `json:"p50"`
	P99      int64 `json:"p99"`
	P999     int64 `json:"p999"`
	Max      int64 `json:"max"`

	cpu time.Duration // that wrk itself used
}

// check reports why a load's answers aren't those that a row is about.
func (l wrkLoad) check(r row) error {
	// A window that turns lets the limit of 10 through once.
	const turned = 20
	switch {
	case l.Requests == 0:
		return fmt.Errorf("row %q: no request was answered", r.name)
	case l.Broken > 0:
		return fmt.Errorf("row %q: %d of %d requests or connections failed", r.name, l.Broken, l.Requests)
	case r.status == admitted && l.Refused > 0:
		return fmt.Errorf("row %q: %d of %d answers weren't 2xx", r.name, l.Refused, l.Requests)
	case r.status == rejected && l.Requests-l.Refused > turned:
		return fmt.Errorf("row %q: %d of %d requests weren't refused", r.name, l.Requests-l.Refused, l.Requests)
	}
	return nil
}

// writeScript puts load.lua where wrk can read it.
func writeScript(dir string) (path string, err error) {
	path = filepath.Join(dir, "load.lua")
	return path, os.WriteFile(path, loadLua, 0o644)
}

// runWrk sends requests to url for a time, whole seconds, argument is the script's own.
func runWrk(ctx context.Context, wrk, script, url string, argument, conns int, length time.Duration) (wrkLoad, error) {
	ctx, cancel := context.WithTimeout(ctx, length+20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, wrk, "-t1", "-c"+strconv.Itoa(conns), "-d"+strconv.Itoa(int(length.Seconds()))+"s",
		"--timeout", "5s", "-s", script, url+"/", "--", strconv.Itoa(argument))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return wrkLoad{}, fmt.Errorf("wrk: %w: %s%s", err, out.Bytes(), errs.Bytes())
	}
	l, err := parseWrk(out.Bytes())
	l.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return l, err
}

// parseWrk finds the line of load.lua in what wrk printed.
func parseWrk(out []byte) (wrkLoad, error) {
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		var l wrkLoad
		if err := json.Unmarshal(line, &l); err != nil {
			return wrkLoad{}, fmt.Errorf("wrk's figures: %w", err)
		}
		return l, nil
	}
	return wrkLoad{}, fmt.Errorf("wrk printed no figures:\n%s", out)
}
