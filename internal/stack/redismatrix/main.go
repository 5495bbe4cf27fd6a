// Command redismatrix runs a command on each version of Redis and Valkey that can
// be had, one after the other, with REDIS_SERVER set to its server:
//
//	go run ./internal/stack/redismatrix go test ./lua/luatest
//
// It ends with 1 when the command failed on any.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"sluice/internal/stack"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: redismatrix COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "redismatrix:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string) error {
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	installed, err := stack.FindRedis(ctx, say)
	if err != nil {
		return err
	}
	servers := []string{installed}
	for _, b := range stack.RedisBuilds {
		path, err := stack.FetchRedis(ctx, say, b)
		if err != nil {
			return err
		}
		servers = append(servers, path)
	}
	var failed []string
	for _, path := range servers {
		name := version(ctx, path)
		fmt.Println("==", name)
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "REDIS_SERVER="+path)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", name, err))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed on %q", failed)
	}
	return nil
}

var versionLine = regexp.MustCompile(`^(\w+) server v=(\S+)`)

func version(ctx context.Context, path string) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if m := versionLine.FindSubmatch(out); err == nil && m != nil {
		return string(m[1]) + " " + string(m[2])
	}
	return path
}
