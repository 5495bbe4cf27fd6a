package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/configfile"
	"sluice/internal/redisclient"
)

// readConfigs finds the configurations in a file, or on in for "-".
func readConfigs(name string, in io.Reader) ([]configfile.Found, error) {
	text, err := configfile.Read(name, in)
	if err != nil {
		return nil, refusedError{err}
	}
	found, err := configfile.Find(text)
	if err != nil {
		return nil, refusedError{fmt.Errorf("%s %w", shownFile(name), err)}
	}
	return found, nil
}

// readPolicy reads the one right configuration that a file holds.
func readPolicy(name string, in io.Reader) (*config.Policy, error) {
	found, err := readConfigs(name, in)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if p := found[i].Problems; len(p) > 0 {
			return nil, refusedError{fmt.Errorf("%s (`sluice check %s` lists all errors)", problemAt(name, p[0]), name)}
		}
	}
	if len(found) > 1 {
		return nil, refusedError{fmt.Errorf("%s holds %d configurations: give a file with one of them", shownFile(name), len(found))}
	}
	return found[0].Policy, nil
}

// shownFile is a file's name in messages.
func shownFile(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// problemAt is a problem as compilers write one: file:line:column: message.
func problemAt(name string, p yamlconfig.Problem) string {
	if p.Line == 0 {
		return shownFile(name) + ": " + p.Error.Error()
	}
	return shownFile(name) + ":" + p.String()
}

// setHashSecret gives a policy the key of its hashes, from this program's
// environment, and reports whether it is there.
func setHashSecret(p *config.Policy) bool {
	if p.HashSecretEnv == "" {
		return true
	}
	secret := os.Getenv(p.HashSecretEnv)
	p.SetHashSecret([]byte(secret))
	return secret != ""
}

// redisDefaults are what a configuration says about Redis.
func redisDefaults(p *config.Policy) redisclient.Defaults {
	r := &p.Redis
	return redisclient.Defaults{
		Username: r.Username, PasswordEnv: r.PasswordEnv, Password: r.Password, DB: int(r.DB),
		Cluster: r.Topology == config.RedisCluster,
	}
}

// redisError turns an error of the Redis client's into one of the tool's.
func redisError(f *redisclient.Flags, err error) error {
	var flag *redisclient.FlagError
	if errors.As(err, &flag) {
		return usageError{err}
	}
	return f.Explain(err)
}

// needArgs refuses fewer arguments than n as a mistake on the command line.
func needArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError{fmt.Errorf("%s needs %s; see %s --help", cmd.CommandPath(), what, cmd.CommandPath())}
		}
		return nil
	}
}
