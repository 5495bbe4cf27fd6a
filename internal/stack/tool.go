package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Progress prints, as fmt.Printf would and with a newline, what takes time or
// what a user must know. A nil Progress says nothing.
type Progress func(format string, args ...any)

func (p Progress) say(format string, args ...any) {
	if p != nil {
		p(format, args...)
	}
}

// MissingToolError is a tool that is neither there nor to be had.
type MissingToolError struct {
	Tool string // envoy or redis-server
	Why  string // what was tried and what went wrong
	Help string // what to do about it
}

func (e *MissingToolError) Error() string {
	return fmt.Sprintf("no %s: %s; %s", e.Tool, e.Why, e.Help)
}

// output runs a short command; an error carries the end of what it printed.
func output(ctx context.Context, bin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, bin, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, lastLines(out.String(), 3))
	}
	return out.String(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " / ")
}

// errNoApt means that packages can't be installed here without asking someone.
var errNoApt = errors.New("packages can't be installed here without a question (that takes apt-get, and root or passwordless sudo)")

// aptInstall installs Debian packages where that needs no question.
func aptInstall(ctx context.Context, say Progress, packages ...string) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errNoApt
	}
	prefix := []string{"env", "DEBIAN_FRONTEND=noninteractive"}
	if os.Geteuid() != 0 {
		if _, err := output(ctx, "sudo", "-n", "true"); err != nil {
			return errNoApt
		}
		prefix = append([]string{"sudo", "-n"}, prefix...)
	}
	say.say("installing %s with apt-get", strings.Join(packages, " "))
	run := func(args ...string) error {
		argv := append(append(append([]string{}, prefix...), apt), args...)
		_, err := output(ctx, argv[0], argv[1:]...)
		return err
	}
	install := append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)
	if err := run(install...); err == nil {
		return nil
	}
	// A fresh machine has no package lists, or old ones.
	if err := run("update", "-q"); err != nil {
		return err
	}
	return run(install...)
}
