// Package redisclient connects the tool's commands to Redis: one set of flags,
// one client for one server or a cluster, and errors of one sentence that says
// what to do. It is for the tool only; the plugin has package link.
package redisclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"
)

// DefaultAddr is where Redis is looked for when nobody says otherwise.
const DefaultAddr = "127.0.0.1:6379"

// Flags say how to reach Redis. A password never is a flag: other users of the
// machine would see it in the list of processes.
type Flags struct {
	Addr        string // host:port; several of a cluster's nodes, joined by commas
	Username    string // ACL user; "" = the default user
	PasswordEnv string // environment variable that holds the password; "" = none
	DB          int
	Cluster     bool
	TLS         bool
	CAFile      string // PEM; "" = the system's authorities
	CertFile    string // PEM, with KeyFile: the client's own certificate
	KeyFile     string
	ServerName  string        // name in Redis's certificate; "" = Addr's host
	Timeout     time.Duration // to connect, and for each command

	password string // from a configuration that holds it inline
	set      *pflag.FlagSet
}

// Register adds the flags to a command's.
func (f *Flags) Register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.Addr, "redis", DefaultAddr, "Redis as host:port; of a cluster, one or more nodes joined by commas")
	set.StringVar(&f.Username, "username", "", "ACL user")
	set.StringVar(&f.PasswordEnv, "password-env", "", "environment variable that holds the password")
	set.IntVar(&f.DB, "db", 0, "number of the database")
	set.BoolVar(&f.Cluster, "cluster", false, "Redis is a cluster")
	set.BoolVar(&f.TLS, "tls", false, "connect with TLS")
	set.StringVar(&f.CAFile, "tls-ca", "", "PEM file of the authority that signed Redis's certificate (default: the system's)")
	set.StringVar(&f.CertFile, "tls-cert", "", "PEM file of the client's certificate")
	set.StringVar(&f.KeyFile, "tls-key", "", "PEM file of the client's key")
	set.StringVar(&f.ServerName, "tls-server-name", "", "name in Redis's certificate (default: the host of --redis)")
	set.DurationVar(&f.Timeout, "timeout", 3*time.Second, "longest wait to connect and for each command")
}

// Defaults are what a sluice configuration says about Redis.
type Defaults struct {
	Username, PasswordEnv, Password string
	DB                              int
	Cluster                         bool
}

// Fill takes from a configuration what the command line doesn't say.
func (f *Flags) Fill(d Defaults) {
	given := func(name string) bool { return f.set != nil && f.set.Changed(name) }
	if !given("username") {
		f.Username = d.Username
	}
	if !given("password-env") {
		f.PasswordEnv, f.password = d.PasswordEnv, d.Password
	}
	if !given("db") {
		f.DB = d.DB
	}
	if !given("cluster") {
		f.Cluster = d.Cluster
	}
}

// Options are the client's settings, or what is wrong with the flags.
func (f *Flags) Options() (*redis.UniversalOptions, error) {
	addrs := strings.Split(f.Addr, ",")
	for i, a := range addrs {
		addrs[i] = strings.TrimSpace(a)
		if err := checkAddr(addrs[i]); err != nil {
			return nil, err
		}
	}
	if len(addrs) > 1 && !f.Cluster {
		return nil, errors.New("--redis names several nodes: say --cluster, or name one")
	}
	if f.Cluster && f.DB != 0 {
		return nil, errors.New("--db: a cluster has database 0 only")
	}
	if f.DB < 0 {
		return nil, errors.New("--db: must be 0 or more")
	}
	password := f.password
	if f.PasswordEnv != "" {
		if password = os.Getenv(f.PasswordEnv); password == "" {
			return nil, fmt.Errorf("the environment variable %s, which should hold Redis's password, is empty: set it, or name another with --password-env", f.PasswordEnv)
		}
	}
	t, err := f.tls(addrs[0])
	if err != nil {
		return nil, err
	}
	return &redis.UniversalOptions{
		Addrs: addrs, IsClusterMode: f.Cluster,
		Username: f.Username, Password: password, DB: f.DB,
		DialTimeout: f.Timeout, ReadTimeout: f.Timeout, WriteTimeout: f.Timeout,
		ContextTimeoutEnabled: true, MaxRetries: 1, TLSConfig: t,
		DisableIdentity: true, // a least-privilege user may not say CLIENT SETINFO
		Protocol:        2,
	}, nil
}

func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return fmt.Errorf("--redis: %q is no host:port, as in %s", addr, DefaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("--redis: %q has no port from 1 to 65535", addr)
	}
	return nil
}

func (f *Flags) tls(addr string) (*tls.Config, error) {
	if !f.TLS {
		if f.CAFile != "" || f.CertFile != "" || f.KeyFile != "" || f.ServerName != "" {
			return nil, errors.New("--tls-… flags do nothing without --tls: add it")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if c.ServerName == "" && !f.Cluster {
		c.ServerName, _, _ = net.SplitHostPort(addr)
	}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca: %s holds no PEM certificate", f.CAFile)
		}
	}
	if (f.CertFile == "") != (f.KeyFile == "") {
		return nil, errors.New("--tls-cert and --tls-key go together: give both or neither")
	}
	if f.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Connect returns a client that has reached Redis. The caller closes it.
func (f *Flags) Connect(ctx context.Context) (redis.UniversalClient, error) {
	o, err := f.Options()
	if err != nil {
		return nil, &FlagError{err}
	}
	redis.SetLogger(silent{})
	c := redis.NewUniversalClient(o)
	within, cancel := context.WithTimeout(ctx, 2*f.Timeout)
	defer cancel()
	// EXISTS needs no more than what a command on keys needs anyway; PING may not
	// be allowed, and a cluster node answers PING while it has no slots.
	if err := c.Exists(within, "sluice").Err(); err != nil && !mayNot(err) {
		_ = c.Close()
		return nil, f.Explain(err)
	}
	return c, nil
}

// FlagError is a mistake in the flags, not in what they lead to.
type FlagError struct{ error }

func (e *FlagError) Unwrap() error { return e.error }

// mayNot reports that Redis knows who asks, and refuses just this command or key.
func mayNot(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

// Explain says in one sentence what to do about an error of the client's.
func (f *Flags) Explain(err error) error {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	text := err.Error()
	why := func(format string, args ...any) error {
		return &redisError{fmt.Sprintf(format, args...), err}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case strings.HasPrefix(text, "NOAUTH"):
		return why("Redis at %s wants a password: name the environment variable that holds it with --password-env", f.Addr)
	case strings.HasPrefix(text, "WRONGPASS"), strings.Contains(text, "invalid password"):
		return why("Redis at %s refused the user or the password: check --username and the variable that --password-env names", f.Addr)
	case strings.HasPrefix(text, "NOPERM"):
		return why("Redis at %s doesn't let this user do that (%s): use a user with the rights that docs/runtime-overrides.md lists", f.Addr, text)
	case strings.HasPrefix(text, "READONLY"):
		return why("Redis at %s is a replica: give --redis the primary's address", f.Addr)
	case strings.HasPrefix(text, "LOADING"):
		return why("Redis at %s is still loading its data: try again in a moment", f.Addr)
	case strings.HasPrefix(text, "MOVED"), strings.HasPrefix(text, "ASK"), strings.HasPrefix(text, "CLUSTERDOWN"), strings.HasPrefix(text, "CROSSSLOT"):
		return why("Redis at %s is a cluster, and says %s: add --cluster, or repair the cluster", f.Addr, firstWord(text))
	case strings.Contains(text, "cluster support disabled"):
		return why("Redis at %s is no cluster: leave --cluster out", f.Addr)
	case errors.As(err, &dns):
		return why("no address is known for the host of --redis %s: check its name", f.Addr)
	case strings.Contains(text, "connection refused"):
		return why("nothing listens at %s: start Redis there, or say where it is with --redis", f.Addr)
	case strings.Contains(text, "x509:"), strings.Contains(text, "tls:"):
		return why("the TLS connection to %s failed (%s): check --tls, --tls-ca and --tls-server-name", f.Addr, text)
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return why("Redis at %s didn't answer within %s: check the address, and whether it %s", f.Addr, f.Timeout, f.tlsHint())
	case strings.Contains(text, "EOF"), strings.Contains(text, "connection reset"):
		return why("the connection to %s was closed: check that Redis listens there, and whether it %s", f.Addr, f.tlsHint())
	}
	return why("Redis at %s: %s", f.Addr, text)
}

// tlsHint is what may be wrong about TLS.
func (f *Flags) tlsHint() string {
	if f.TLS {
		return "speaks TLS on that port"
	}
	return "wants --tls"
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

type redisError struct {
	text  string
	cause error
}

func (e *redisError) Error() string { return e.text }
func (e *redisError) Unwrap() error { return e.cause }

// silent keeps the client library from writing lines of its own.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
