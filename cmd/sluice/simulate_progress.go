package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a long command is, on a terminal only.
type progress struct {
	out  io.Writer // nil where there is no terminal
	bar  *progressbar.ProgressBar
	name string
}

func newProgress(w io.Writer) *progress {
	p := &progress{}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.out = w
	}
	return p
}

// at shows how much of a phase is done; a total below 0 isn't known.
func (p *progress) at(name string, n, total int64, asBytes bool) {
	if p.out == nil {
		return
	}
	if p.name != name {
		p.end()
		p.name = name
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(name), progressbar.OptionShowBytes(asBytes),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
		)
	}
	if total >= 0 {
		n = min(n, total)
	}
	_ = p.bar.Set64(n)
}

// bytes shows how much of a log was read.
func (p *progress) bytes(n, total int64) {
	if total <= 0 {
		total = -1
	}
	p.at("reading", n, total, true)
}

// requests shows how many requests of a run are through.
func (p *progress) requests(run, runs int, n, total int64) {
	name := "deciding"
	if runs > 1 {
		name = fmt.Sprintf("deciding, %d of %d", run+1, runs)
	}
	p.at(name, n, max(total, n), false)
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
		p.bar, p.name = nil, ""
	}
}
