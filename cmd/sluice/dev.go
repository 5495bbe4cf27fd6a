package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/playground"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// dev holds what the command line of `sluice dev` says, and what it started.
type dev struct {
	envoyFile  string
	limitsFile string
	logs       string
	redis      string
	workers    int
	pagePort   int

	out        io.Writer
	config     *envoyconfig.Config
	workDir    string
	ownExample bool     // it runs the checkout's envoy.yaml
	stop       []func() // in the order of starting
	ended      chan *stack.Process

	limits   limits
	settings *playground.Settings // nil without a page
	noPage   error                // why there is none
	page     *playground.Server
	pageURL  string
	server   *playground.OwnRedis // nil where Redis isn't dev's own
}

func newDev() *cobra.Command {
	d := &dev{ended: make(chan *stack.Process, 2)}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start Envoy with the plugin, Redis and a page to try limits on",
		Long: `Starts Redis, an Envoy with envoy.yaml and a web page on this machine, says
what to type next, and stays until Ctrl-C, which stops all of it.

The page shows what each limit does, sends test traffic, explains a request, and
edits the configuration. With --config, a sluice configuration by itself takes
the place of the one in envoy.yaml. What is saved in the file takes effect at
once, and loses no count.

Envoy is $ENVOY, else the one on PATH, else downloaded once. Redis is
$REDIS_SERVER, else the one on PATH, else installed where that needs no
question, else an embedded stand-in. A port that is taken is replaced by a free
one, and the command says so.

` + exitCodes,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.out = cmd.OutOrStdout()
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&d.envoyFile, "envoy", "", "Envoy configuration to run (default: the checkout's envoy.yaml)")
	cmd.Flags().StringVar(&d.limitsFile, "config", "", "sluice configuration (YAML) to run instead of the one in the Envoy configuration")
	cmd.Flags().StringVar(&d.logs, "logs", "", "folder for logs (default: build/dev in the checkout)")
	cmd.Flags().StringVar(&d.redis, "redis", "", "host:port of a Redis to use instead of starting one")
	cmd.Flags().IntVar(&d.workers, "workers", 2, "Envoy worker threads")
	cmd.Flags().IntVar(&d.pagePort, "page-port", pagePort, "port of the page")
	return cmd
}

func (d *dev) run(ctx context.Context) error {
	defer d.stopAll()
	if err := d.prepare(); err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		if ctx.Err() != nil {
			err = nil // Ctrl-C came first, and this is what it broke
		}
		return err
	}
	if d.page != nil {
		followed, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); d.follow(followed) }()
		defer func() { cancel(); <-done }() // before anything is stopped
	}
	select {
	case <-ctx.Done():
		d.say("stopping")
		return nil
	case p := <-d.ended:
		return fmt.Errorf("%s ended by itself; see the end of %s", p.Name, p.Log)
	}
}

// start starts everything and says what to do with it.
func (d *dev) start(ctx context.Context) error {
	envoyBinary, err := stack.FindEnvoy(ctx, d.say)
	if err != nil {
		return err
	}
	redisAt, err := d.startRedis(ctx)
	if err != nil {
		return err
	}
	d.config.Endpoint(envoyconfig.Pipe, redisAt)
	envoy, err := d.startEnvoy(ctx, envoyBinary)
	if err != nil {
		return err
	}
	if err := d.startPage(envoy, redisAt); err != nil {
		return err
	}
	d.explain(envoy, redisAt)
	return nil
}

// claimLogs takes a folder for logs that no other sluice dev has: there Envoy watches
// a file for the plugin's configuration.
func (d *dev) claimLogs(root string) error {
	given := d.logs != ""
	if !given {
		d.logs = filepath.Join(root, "build", "dev")
	}
	first, err := filepath.Abs(d.logs)
	if err != nil {
		return err
	}
	d.logs = first
	for n := 2; ; n++ {
		release, err := stack.Claim(d.logs)
		if err == nil {
			d.stop = append(d.stop, release)
			return nil
		}
		if !errors.Is(err, stack.ErrInUse) {
			return fmt.Errorf("the folder for logs: %w", err)
		}
		if given || n > 9 {
			return fmt.Errorf("another sluice dev runs with the folder %s: give another one with --logs", shown(d.logs))
		}
		d.logs = first + "-" + strconv.Itoa(n)
		d.say("another sluice dev runs here: logs go to %s", shown(d.logs))
	}
}

// prepare finds the files that are needed and reads the configuration.
func (d *dev) prepare() error {
	root, err := stack.Root()
	if err != nil && (d.envoyFile == "" || d.logs == "") {
		return fmt.Errorf("%w; go there, or give both --envoy and --logs", err)
	}
	if d.envoyFile == "" {
		d.envoyFile = filepath.Join(root, "envoy.yaml")
		d.workDir = root
		d.ownExample = true
		module := filepath.Join(root, stack.ModulePath)
		if _, err := os.Stat(module); err != nil {
			return fmt.Errorf("the compiled plugin %s isn't there: run make build", stack.ModulePath)
		}
	}
	if err := d.claimLogs(root); err != nil {
		return err
	}
	d.ownExample = d.ownExample && d.limitsFile == ""
	// Only this run's lines are to be found there.
	for _, name := range []string{"envoy.log", "envoy-access.log", "redis.log"} {
		if err := os.Remove(filepath.Join(d.logs, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if d.config, err = envoyconfig.Load(d.envoyFile); err != nil {
		return refusedError{err}
	}
	return d.configure()
}

// envoyTries is how often Envoy is started, each time on ports that are free then.
const envoyTries = 3

// startEnvoy starts Envoy on ports that are free, and that no other program shares.
func (d *dev) startEnvoy(ctx context.Context, binary string) (*stack.Envoy, error) {
	d.config.OwnPorts()
	envoy, err := d.tryEnvoy(ctx, binary)
	for range envoyTries - 1 {
		if !errors.Is(err, stack.ErrPortTaken) {
			break
		}
		envoy, err = d.tryEnvoy(ctx, binary) // another program was faster
	}
	var ended *stack.EndedError
	switch {
	case errors.Is(err, stack.ErrPortTaken):
		return nil, fmt.Errorf("ports were taken by other programs %d times while Envoy started: try again: %w", envoyTries, err)
	case errors.As(err, &ended):
		return nil, refusedError{err}
	}
	if err != nil {
		return nil, err
	}
	d.stop = append(d.stop, envoy.Stop)
	d.watch(envoy.Process())
	return envoy, nil
}

func (d *dev) tryEnvoy(ctx context.Context, binary string) (*stack.Envoy, error) {
	moved := envoyconfig.Ports{}
	for _, want := range d.config.Listens() {
		port, err := d.port("Envoy", want)
		if err != nil {
			return nil, err
		}
		moved[want] = port
	}
	d.config.MovePorts(moved)
	return stack.StartEnvoy(ctx, stack.EnvoyOptions{
		Binary: binary, Dir: d.logs, Config: d.config, Workers: d.workers, WorkDir: d.workDir,
	})
}

// port returns want, or another port and says so.
func (d *dev) port(whose string, want int) (int, error) {
	port, err := stack.PortOr(want)
	if err == nil && port != want {
		d.say("port %d is taken: %s uses %d instead", want, whose, port)
	}
	return port, err
}

func (d *dev) watch(p *stack.Process) {
	go func() {
		<-p.Done()
		d.ended <- p
	}()
}

func (d *dev) stopAll() {
	for i := len(d.stop) - 1; i >= 0; i-- {
		d.stop[i]()
	}
}

func (d *dev) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *dev) explain(e *stack.Envoy, redisAt string) {
	if d.page != nil {
		d.say("\nsluice runs. Open\n\n  %s\n\nand see what each limit does, or type in another terminal\n", d.pageURL)
	} else {
		d.say("\nsluice runs, without its page: %v. In another terminal, type\n", d.noPage)
	}
	if d.ownExample {
		d.say("  for i in 1 2 3 4 5 6 7; do curl -s -o /dev/null -w '%%{http_code}\\n' %s/hello; done\n", e.URL())
		d.say("and see 200 five times, then 429 twice: %s allows 5 a minute.", shown(d.envoyFile))
	} else {
		d.say("  curl -i %s/", e.URL())
	}
	d.say(`
  gateway   %s
  admin     http://%s (metrics: /stats/prometheus)
  Redis     %s
  limits    %s%s
  logs      %s

Ctrl-C stops everything.`, e.URL(), e.Admin, redisAt, shown(d.limits.file), d.whenSaved(), shown(d.logs))
}

// whenSaved says what saving the file with the limits does.
func (d *dev) whenSaved() string {
	if d.page == nil {
		return "; restart after a change"
	}
	return "; what you save there takes effect at once"
}

// shown is a path as a person would type it.
func shown(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
