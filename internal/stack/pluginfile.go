package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sluice/internal/stack/envoyconfig"
)

// ErrRefused means that Envoy did not take a configuration; it goes on with the
// one that it has.
var ErrRefused = errors.New("refused by Envoy, which goes on with the configuration that it has")

// takeTimeout is how long an Envoy may take to load the plugin anew.
const takeTimeout = 30 * time.Second

// PluginFile is a file that an Envoy watches for the plugin's filter: what is
// written there takes effect without a restart, and no connection notices.
type PluginFile struct {
	path   string
	mu     sync.Mutex
	filter *envoyconfig.Config // the configuration that holds the filter itself
}

// NewPluginFile has c take the plugin's filter from the file at path. It is to
// be called before c's Envoy is started, and Write before that, too. Nothing
// else should be written to the file's folder: Envoy looks at every change there.
func NewPluginFile(c *envoyconfig.Config, path string) (*PluginFile, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	filter, err := envoyconfig.Parse(text)
	if err != nil {
		return nil, err
	}
	c.PluginFrom(path)
	if _, err := c.YAML(); err != nil {
		return nil, err
	}
	return &PluginFile{path: path, filter: filter}, nil
}

// Write writes the plugin's configuration, JSON, into the file. env names the
// variables of Envoy's environment that the plugin may see.
func (f *PluginFile) Write(json string, env ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(json, env)
}

func (f *PluginFile) write(json string, env []string) error {
	if len(env) > 0 {
		f.filter.PassEnv(env...)
	}
	f.filter.Configure(json)
	text, err := f.filter.PluginDiscovery()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	// It may hold a password.
	if err := os.WriteFile(f.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path) // Envoy notices only a file that is moved there
}

// Replace does as Write and waits until the Envoy has
// loaded it. The error is ErrRefused when Envoy didn't take it.
func (f *PluginFile) Replace(ctx context.Context, a Admin, json string, env ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	before, err := a.discovery(ctx)
	if err != nil {
		return err
	}
	if err := f.write(json, env); err != nil {
		return err
	}
	for {
		now, err := a.discovery(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && now.refused > before.refused: // which also counts as one taken
			return ErrRefused
		case err == nil && now.taken > before.taken:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until Envoy has taken the configuration: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// discovery is how often an Envoy took and refused the plugin's filter.
type discovery struct{ taken, refused float64 }

func (a Admin) discovery(ctx context.Context) (discovery, error) {
	const prefix = "envoy_extension_config_discovery_http_filter_" + envoyconfig.Plugin + "_"
	stats, err := a.StatsLike(ctx, "^extension_config_discovery")
	if err != nil {
		return discovery{}, err
	}
	return discovery{
		taken:   stats[prefix+"config_reload"],
		refused: stats[prefix+"config_fail"] + stats[prefix+"update_rejected"] + stats[prefix+"update_failure"],
	}, nil
}
