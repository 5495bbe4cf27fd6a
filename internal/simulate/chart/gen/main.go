// Command gen draws the pictures of the documents.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sluice/internal/simulate"
	"sluice/internal/simulate/chart"
	"sluice/internal/stack"
)

func main() {
	if err := draw(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// draw shows how much a window can hold under three algorithms when bursts come
// a little more often than once a window.
func draw() error {
	root, err := stack.Root()
	if err != nil {
		return err
	}
	c, err := simulate.LoadConfig("limits.yaml", []byte("limits:\n- {name: per-ip, key: ip, rate: 100/10s}\n"))
	if err != nil {
		return err
	}
	shape, err := simulate.ParseShape("bursts 100 every 9s")
	if err != nil {
		return err
	}
	in, err := simulate.NewLoad(simulate.LoadOptions{
		Shapes: []simulate.Shape{shape}, For: 2 * time.Minute, Method: "GET", Path: "/", Host: "example.com", Keys: 1, Status: 200,
	})
	if err != nil {
		return err
	}
	r, err := simulate.Simulate(context.Background(), c, in, simulate.Options{
		Algorithms: []string{"sliding_log", "fixed_window", "token_bucket"}, Series: true,
	})
	if err != nil {
		return err
	}
	r.Load = []string{shape.String()}
	return chart.Save(r, filepath.Join(root, "docs", "images", "window-edges.svg"))
}
