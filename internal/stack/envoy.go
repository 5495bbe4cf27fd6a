package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sluice/internal/stack/envoyconfig"
)

// envoyReady is how long an Envoy may take to load its configuration: it
// compiles the module first, and the machine may be busy.
const envoyReady = 90 * time.Second

// EnvoyOptions say how an Envoy is started. Binary, Dir and Config must be set.
// What Envoy prints, the access log of envoy.yaml, goes to NAME-access.log.
type EnvoyOptions struct {
	Binary  string // path of envoy, from FindEnvoy
	Dir     string // where its log and configuration go; it is made
	Name    string // names those files; "envoy" when empty
	Config  *envoyconfig.Config
	Workers int      // 0 for one a core
	Level   string   // log level; "warning" when empty; the plugin's own is info
	Env     []string // added to this program's environment
	WorkDir string   // what paths in Config are relative to; "" for this program's
}

// Envoy is one gateway.
type Envoy struct {
	Admin Admin

	proc      *Process
	listeners map[string]string
}

// StartEnvoy starts an Envoy and waits until it serves. Ports that are 0 in
// the configuration are free ones; Listener tells which. When Envoy refuses
// the configuration the error is an *EndedError.
func StartEnvoy(ctx context.Context, o EnvoyOptions) (*Envoy, error) {
	if o.Name == "" {
		o.Name = "envoy"
	}
	if o.Level == "" {
		o.Level = "warning"
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(o.Dir, o.Name+".yaml")
	text, err := o.Config.YAML()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	adminFile := filepath.Join(o.Dir, o.Name+".admin")
	if err := os.Remove(adminFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	args := []string{
		"-c", file, "--disable-hot-restart", "--admin-address-path", adminFile,
		"--log-level", o.Level, "--component-log-level", "wasm:info",
		"--file-flush-interval-msec", "500",
	}
	if o.Workers > 0 {
		args = append(args, "--concurrency", strconv.Itoa(o.Workers))
	}
	proc, err := command{
		name: o.Name, bin: o.Binary, args: args, env: o.Env, dir: o.WorkDir,
		log: filepath.Join(o.Dir, o.Name+".log"),
		out: filepath.Join(o.Dir, o.Name+"-access.log"),
	}.start()
	if err != nil {
		return nil, err
	}
	e := &Envoy{proc: proc}
	if err := proc.waitReady(ctx, envoyReady, func() error { return e.ready(ctx, adminFile) }); err != nil {
		proc.Kill()
		var ended *EndedError
		if errors.As(err, &ended) && (strings.Contains(ended.Tail, "cannot bind") || strings.Contains(ended.Tail, "cannot listen")) {
			return nil, fmt.Errorf("%w: %w", ErrPortTaken, err)
		}
		return nil, err
	}
	e.listeners, err = e.Admin.Listeners(ctx)
	if err != nil {
		proc.Kill()
		return nil, err
	}
	return e, nil
}

func (e *Envoy) ready(ctx context.Context, adminFile string) error {
	if e.Admin == "" {
		addr, err := os.ReadFile(adminFile)
		if err != nil {
			return err
		}
		if len(addr) == 0 {
			return errors.New("the admin address isn't written yet")
		}
		e.Admin = Admin(addr)
	}
	return e.Admin.Ready(ctx)
}

// Listener is the host:port that the listener of that name is bound to, or ""
// when there is none.
func (e *Envoy) Listener(name string) string { return e.listeners[name] }

// URL is where the gateway's own listener answers, without a path.
func (e *Envoy) URL() string { return "http://" + e.Listener(envoyconfig.Gateway) }

// Process is the running Envoy.
func (e *Envoy) Process() *Process { return e.proc }

// Stop ends Envoy in order.
func (e *Envoy) Stop() { e.proc.Stop() }
