package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// RateLimitVersion is the version of envoyproxy/ratelimit, Envoy's rate-limit
// service, that FindRateLimit builds.
const RateLimitVersion = "v1.4.1-0.20260122083618-3fb702589d36"

const (
	rateLimitCommand = "service_cmd"
	rateLimitPackage = "github.com/envoyproxy/ratelimit/src/" + rateLimitCommand
	rateLimitHelp    = "set RATELIMIT to the path of its " + rateLimitCommand + " binary"
)

// FindRateLimit returns the path of Envoy's rate-limit service: $RATELIMIT, else
// built, once, into .tools with the Go command.
func FindRateLimit(ctx context.Context, say Progress) (string, error) {
	if path := os.Getenv("RATELIMIT"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", &MissingToolError{"envoyproxy/ratelimit", fmt.Sprintf("$RATELIMIT doesn't serve: %v", err), rateLimitHelp}
		}
		return path, nil
	}
	path, err := builtRateLimit(ctx, say)
	if err != nil {
		return "", &MissingToolError{"envoyproxy/ratelimit", err.Error(), rateLimitHelp}
	}
	return path, nil
}

func builtRateLimit(ctx context.Context, say Progress) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(tools, "ratelimit-"+RateLimitVersion)
	path := filepath.Join(dir, rateLimitCommand)
	err = Locked(filepath.Join(tools, "ratelimit.lock"), func() error {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		say.say("building envoyproxy/ratelimit %s into %s (once, about a minute)", RateLimitVersion, dir)
		goCommand, err := exec.LookPath("go")
		if err != nil {
			return err
		}
		// A build that was interrupted must not look like a finished one.
		unfinished := dir + ".new"
		if err := os.RemoveAll(unfinished); err != nil {
			return err
		}
		if _, err := output(ctx, "env", "GOBIN="+unfinished, goCommand, "install", rateLimitPackage+"@"+RateLimitVersion); err != nil {
			return err
		}
		return os.Rename(unfinished, dir)
	})
	return path, err
}
