package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"sluice/internal/stack"
)

// wakes is how long a gateway that was stopped gets to see what time it is and to
// connect anew where it must, before anything is asked of it.
const wakes = 200 * time.Millisecond

// doze stops all rows' gateways: two dozen idle proxies, with a few timers each, take
// a seventh of a processor from the one that is measured.
func (b *bed) doze() error {
	for name, g := range b.gateways {
		if err := g.Process().Signal(syscall.SIGSTOP); err != nil {
			return fmt.Errorf("stop the gateway of row %q: %w", name, err)
		}
	}
	return nil
}

// awake runs f while a row's gateway isn't stopped.
func (b *bed) awake(r row, f func(*stack.Envoy) error) error {
	g := b.gateways[r.name]
	if err := g.Process().Signal(syscall.SIGCONT); err != nil {
		return err
	}
	time.Sleep(wakes)
	err := f(g)
	return errors.Join(err, g.Process().Signal(syscall.SIGSTOP))
}
