package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/playground"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// pagePort is where the page is when that port is free.
const pagePort = 10010

// limits is where the configuration of the plugin comes from: a file of its own,
// or the Envoy configuration that holds it.
type limits struct {
	file         string
	inEnvoy      bool
	line, column int // from the configuration's text to the file's
	read         []byte
}

// load reads the configuration. changed is false when the file is as before.
func (l *limits) load() (text string, changed bool, err error) {
	file, err := os.ReadFile(l.file)
	if err != nil {
		return "", false, err
	}
	if l.read != nil && bytes.Equal(file, l.read) {
		return "", false, nil
	}
	l.read = file
	if !l.inEnvoy {
		return string(file), true, nil
	}
	part, line, column, err := envoyconfig.PluginText(file)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", shown(l.file), err)
	}
	l.line, l.column = line, column
	return string(part), true, nil
}

// configure has Envoy take the plugin's configuration from a file of its own, so
// that it can be changed while everything runs. An Envoy configuration without
// the plugin runs as it is, and has no page.
func (d *dev) configure() error {
	d.limits = limits{file: d.limitsFile}
	if d.limitsFile == "" {
		d.limits = limits{file: d.envoyFile, inEnvoy: true}
	}
	text, _, err := d.limits.load()
	if errors.Is(err, envoyconfig.ErrNoPluginText) && d.limits.inEnvoy {
		d.noPage = err
		return nil
	}
	if err != nil {
		return refusedError{err}
	}
	file, err := stack.NewPluginFile(d.config, filepath.Join(d.logs, "watched", "sluice.yaml"))
	if err != nil {
		return refusedError{err}
	}
	d.config.StatsEvery("1s")
	d.settings = playground.NewSettings(shown(d.limits.file), file, d.redis == "")
	wrong, err := d.settings.Open(text)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return refusedError{errors.New(playground.Lines(shown(d.limits.file), d.limits.line, d.limits.column, wrong))}
	}
	return nil
}

// startPage serves the page for the gateway that runs.
func (d *dev) startPage(envoy *stack.Envoy, redisAt string) error {
	if d.settings == nil {
		return nil
	}
	d.settings.Running(envoy.Admin)
	port, err := d.port("the page", d.pagePort)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", stack.Addr(port))
	if err != nil {
		return fmt.Errorf("open the page's port: %w", err)
	}
	redis.SetLogger(silent{}) // the page says what is wrong with Redis
	rdb := redis.NewClient(d.redisOptions(redisAt))
	o := playground.Options{Gateway: envoy.URL(), Admin: envoy.Admin, Redis: rdb, Settings: d.settings}
	if d.server != nil {
		o.Server = d.server
	}
	if d.page, err = playground.Start(l, o); err != nil {
		return errors.Join(err, l.Close(), rdb.Close())
	}
	d.pageURL = "http://" + l.Addr().String() + "/"
	d.stop = append(d.stop, func() { _ = rdb.Close() }, d.page.Stop)
	return nil
}

// silent is a log of the Redis client that nobody reads.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// redisOptions are how the page reads what the plugin wrote. It gives up early:
// that Redis hangs is one of the things to be seen.
func (d *dev) redisOptions(addr string) *redis.Options {
	o := &redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
		DialerRetries: 1, DialTimeout: 300 * time.Millisecond, ReadTimeout: 300 * time.Millisecond,
	}
	if d.redis != "" { // its own, as the configuration says
		r := &d.settings.Now().Engine.Policy().Redis
		o.Username, o.Password, o.DB = r.Username, r.Password, int(r.DB)
		if r.PasswordEnv != "" {
			o.Password = os.Getenv(r.PasswordEnv)
		}
	}
	return o
}

// fileEvery is how often the configuration's file is looked at.
const fileEvery = 500 * time.Millisecond

// follow applies what is saved in the configuration's file, until ctx is done.
func (d *dev) follow(ctx context.Context) {
	tick := time.NewTicker(fileEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text, changed, err := d.limits.load()
		if err != nil || !changed {
			continue // an editor may be between two steps of saving
		}
		name := shown(d.limits.file)
		wrong, err := d.settings.Apply(ctx, text, "file")
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.say("%s: %v", name, err)
		case len(wrong) > 0:
			d.say("%s\nnothing was changed", playground.Lines(name, d.limits.line, d.limits.column, wrong))
		default:
			d.say("%s is in force", name)
		}
		d.page.Changed()
	}
}
