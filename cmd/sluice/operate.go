package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/operate"
	"sluice/internal/override"
	"sluice/internal/redisclient"
)

// operation is what the command lines of set, unset and reset have in common.
type operation struct {
	redis  redisclient.Flags
	config string
	prefix string
	raw    string
	asJSON bool

	cmd *cobra.Command
	op  *operate.Operator
}

func (o *operation) register(cmd *cobra.Command) {
	o.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "the gateways' configuration, or a file that holds it: names, keys and Redis's user are checked against it")
	f.StringVar(&o.prefix, "prefix", "rl", "what every key in Redis begins with (default: the configuration's)")
	f.StringVar(&o.raw, "raw-key", "", "the key's values as they stand in the counter's name, instead of KEY")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	o.redis.Register(f)
}

// open reads the configuration.
func (o *operation) open() error {
	o.op = &operate.Operator{Prefix: o.prefix}
	if o.config == "" {
		return nil
	}
	p, err := readPolicy(o.config, o.cmd.InOrStdin())
	if err != nil {
		return err
	}
	if !setHashSecret(p) && o.raw == "" {
		return refusedError{fmt.Errorf("the configuration hashes keys: set %s to the secret that gateways have", p.HashSecretEnv)}
	}
	o.op.Policy = p
	if !o.cmd.Flags().Changed("prefix") {
		o.op.Prefix = p.Redis.Prefix
	}
	o.redis.Fill(redisDefaults(p))
	return nil
}

// target is what the arguments name: a limit, and perhaps one of its callers.
func (o *operation) target(args []string) (t override.Target, err error) {
	switch {
	case len(args) == 0:
		return t, usageError{fmt.Errorf("%s needs the name of a limit; see %s --help", o.cmd.CommandPath(), o.cmd.CommandPath())}
	case o.raw != "" && len(args) > 1:
		return t, usageError{errors.New("--raw-key takes the place of KEY: give one of them")}
	case o.raw != "":
		t, err = o.op.Raw(args[0], o.raw)
	default:
		t, err = o.op.Target(args[0], args[1:])
	}
	if err != nil {
		return t, usageError{err}
	}
	return t, nil
}

// connect connects to Redis. The caller closes what it returns.
func (o *operation) connect(ctx context.Context) (io.Closer, error) {
	c, err := o.redis.Connect(ctx)
	if err != nil {
		var wrong *redisclient.FlagError
		if errors.As(err, &wrong) {
			return nil, usageError{err}
		}
		return nil, err
	}
	o.op.Redis = c
	return c, nil
}

// failed is an error of Redis's, with what to do.
func (o *operation) failed(err error) error {
	if text, ours := strings.CutPrefix(err.Error(), "ERR sluice: "); ours {
		return errors.New(text)
	}
	return o.redis.Explain(err)
}

// print prints v as JSON, or what text writes.
func (o *operation) print(v any, text func(w io.Writer)) error {
	w := o.cmd.OutOrStdout()
	if !o.asJSON {
		text(w)
		return nil
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// named is a target in words.
func named(t override.Target) string {
	if !t.Keyed {
		return t.Name
	}
	return t.Name + " " + t.Values
}

// overrideJSON is one override in the output for programs.
type overrideJSON struct {
	Limit    string    `json:"limit"`
	Key      *string   `json:"key"` // as in the counter's name; null for all callers
	Override string    `json:"override"`
	Until    time.Time `json:"until"`
	Seconds  int64     `json:"seconds"` // until then
	Replaced string    `json:"replaced,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why gateways skip it
}

func asJSON(t override.Target, s override.Spec, until time.Time, left time.Duration) overrideJSON {
	j := overrideJSON{Limit: t.Name, Override: s.String(), Until: until.UTC(), Seconds: int64(left.Round(time.Second).Seconds())}
	if t.Keyed {
		j.Key = &t.Values
	}
	return j
}

// holdFor reads --for.
func holdFor(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("--for is required, because an override that nobody ends outlives the reason for it: say how long it holds, as in --for 30m")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		ms, err := config.ParseDurationMS(text)
		if err != nil {
			return 0, fmt.Errorf("--for: %q is no duration, such as 90s, 30m, 2h or 7d", text)
		}
		d = time.Duration(ms) * time.Millisecond
	}
	const most = override.MaxForMS * time.Millisecond
	if d < time.Second || d > most {
		return 0, errors.New("--for: from 1s to 30d; for longer, change the configuration")
	}
	return d, nil
}
