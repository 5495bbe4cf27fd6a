package stack

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// serviceReady is how long a service may take until it answers.
const serviceReady = 20 * time.Second

// ServiceOptions say how a server other than Envoy and Redis is started. Only
// Name, Binary and Dir must be set.
type ServiceOptions struct {
	Name   string // names its log
	Binary string // path of the executable
	Args   []string
	Env    []string     // added to this program's environment
	Dir    string       // where its log goes; it is made
	Ready  func() error // returns nil when the server answers; polled
}

// StartService starts a server and waits until it is ready.
func StartService(o ServiceOptions) (*Process, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	proc, err := command{
		name: o.Name, bin: o.Binary, args: o.Args, env: o.Env,
		log: filepath.Join(o.Dir, o.Name+".log"),
	}.start()
	if err != nil || o.Ready == nil {
		return proc, err
	}
	if err := proc.waitReady(context.Background(), serviceReady, o.Ready); err != nil {
		proc.Kill()
		return nil, err
	}
	return proc, nil
}
