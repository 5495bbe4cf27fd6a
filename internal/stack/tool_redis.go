package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const redisHelp = "set REDIS_SERVER to the path of a redis-server binary, or install Redis (Debian: apt-get install redis-server)"

// FindRedis returns the path of a Redis server: $REDIS_SERVER, else
// redis-server on PATH, else installed with the system's package manager where
// that needs no question.
func FindRedis(ctx context.Context, say Progress) (string, error) {
	if path := os.Getenv("REDIS_SERVER"); path != "" {
		if _, err := output(ctx, path, "--version"); err != nil {
			return "", &MissingToolError{"redis-server", fmt.Sprintf("$REDIS_SERVER doesn't serve: %v", err), redisHelp}
		}
		return path, nil
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil
	}
	path, err := installedRedis(ctx, say)
	if err != nil {
		return "", &MissingToolError{"redis-server", err.Error(), redisHelp}
	}
	return path, nil
}

func installedRedis(ctx context.Context, say Progress) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	var path string
	err = Locked(filepath.Join(tools, "redis.lock"), func() error {
		// Another process may have installed it while this one waited.
		if path, err = exec.LookPath("redis-server"); err == nil {
			return nil
		}
		if err := aptInstall(ctx, say, "redis-server"); err != nil {
			return err
		}
		stopService(ctx, "redis-server")
		path, err = exec.LookPath("redis-server")
		return err
	})
	return path, err
}

// stopService ends a server that Debian starts with its package: it was not asked
// for, and it holds its usual port.
func stopService(ctx context.Context, name string) {
	argv := []string{"service", name, "stop"}
	if os.Geteuid() != 0 {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	// Without a running service manager nothing was started: an error here
	// says only that.
	_, _ = output(ctx, argv[0], argv[1:]...)
}

// IsMissing reports whether err says that a tool is missing.
func IsMissing(err error) bool {
	var missing *MissingToolError
	return errors.As(err, &missing)
}
