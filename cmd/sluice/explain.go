package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/look"
	"sluice/internal/redisclient"
)

// request is a request as the command line of explain says it, in curl's words.
type request struct {
	method, url       string
	headers, cookies  []string
	data, raw, binary []string
	agent, referer    string
	user              string
	head, get         bool

	ip, route       string
	jwt             string
	metadata, state []string
	attrs           []string
}

func newExplain() *cobra.Command {
	var req request
	var flags redisclient.Flags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain FILE [curl] URL",
		Short: "Say which limits a request meets, and with --redis what it would be told now",
		Long: `Says which limits of a configuration match a request and why the others don't,
the counters' keys, their rates after overrides, and the script call that the plugin
would make: in a cluster one for each hash slot, and none for what a gateway counts
by itself. It asks the plugin's own engine and needs no server.

The request is written as for curl: a command copied from somewhere may follow
FILE as it is. What curl can't say has flags of its own: --ip, --route,
--jwt-payload, --metadata, --filter-state, --attr.

With --redis it also asks Redis, by the script that decides but without charging
anything: how full each counter is, whether the request would be rejected now, by
which limit, and for how long; and which overrides that were set at run time hold
for it, and until when.

` + exitCodes,
		Example: `  sluice explain sluice.yaml -X POST /api/order -H 'x-user-id: u1' --ip 1.2.3.4
  sluice explain sluice.yaml curl 'https://shop.example/search?q=x' -H 'accept: */*'
  sluice explain sluice.yaml /api/me --jwt-payload '{"sub": "u1", "plan": "gold"}'
  sluice explain envoy.yaml /hello --ip 1.2.3.4 --redis 127.0.0.1:6379`,
		Args: needArgs(1, "a configuration, and a path or URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy, err := readPolicy(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			r, err := req.build(args[1:])
			if err != nil {
				return usageError{err}
			}
			hashed := setHashSecret(policy)
			var x *explain.Explanation
			note := ""
			if !cmd.Flags().Changed("redis") {
				x = explain.Explain(engine.New(policy), r, time.Now().UnixMicro())
			} else {
				if !hashed {
					return fmt.Errorf("keys are hashed with the secret in %s, which is empty here: set it as the gateways have it", policy.HashSecretEnv)
				}
				if x, note, err = ask(cmd, &flags, policy, r); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), x)
			}
			p := newPrinter(cmd.OutOrStdout())
			if !hashed {
				p.line("%s %s is empty here, so the keys shown aren't those of the gateways.", p.style(yellow, "Note:"), policy.HashSecretEnv)
			}
			printExplanation(p, x)
			if note != "" {
				p.line("%s %s", p.style(yellow, "Note:"), safe(note))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&req.method, "request", "X", "", "method (default GET, with a body POST)")
	f.StringVar(&req.url, "url", "", "path or URL, instead of the argument")
	f.StringArrayVarP(&req.headers, "header", "H", nil, "header, as in 'x-user-id: u1'; repeatable")
	f.StringArrayVarP(&req.cookies, "cookie", "b", nil, "cookies, as in 'session=1; theme=dark'")
	f.StringArrayVarP(&req.data, "data", "d", nil, "body, or @FILE; only its length matters")
	f.StringArrayVar(&req.raw, "data-raw", nil, "body")
	f.StringArrayVar(&req.binary, "data-binary", nil, "body, or @FILE")
	f.BoolVarP(&req.get, "get", "G", false, "send --data in the query")
	f.BoolVarP(&req.head, "head", "I", false, "a HEAD request")
	f.StringVarP(&req.agent, "user-agent", "A", "", "header user-agent")
	f.StringVarP(&req.user, "user", "u", "", "name:password, for a header authorization")
	f.StringVarP(&req.referer, "referer", "e", "", "header referer")
	f.StringVar(&req.ip, "ip", "", "address that is connected to the gateway (default 192.0.2.1)")
	f.StringVar(&req.route, "route", "", "name of the route that Envoy chose")
	f.StringVar(&req.jwt, "jwt-payload", "", "payload of a verified token: JSON, a file, or KEY=JSON for one that jwt_authn stores under KEY")
	f.StringArrayVar(&req.metadata, "metadata", nil, "dynamic metadata, as in my.filter.tenant=acme; repeatable")
	f.StringArrayVar(&req.state, "filter-state", nil, "filter state, as in tenant=acme; repeatable")
	f.StringArrayVar(&req.attrs, "attr", nil, "an Envoy attribute, as in connection.mtls=true; repeatable")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	flags.Register(f)
	f.Lookup("redis").DefValue = ""
	ignored(cmd)
	return cmd
}

// ignored takes those of curl's flags that change nothing about the request.
func ignored(cmd *cobra.Command) {
	f := cmd.Flags()
	for name, short := range map[string]string{
		"silent": "s", "include": "i", "verbose": "v", "insecure": "k", "location": "L", "fail": "f",
		"show-error": "S", "compressed": "", "http1.1": "", "http2": "", "http3": "", "no-buffer": "N",
	} {
		f.BoolP(name, short, false, "")
		_ = f.MarkHidden(name)
	}
	for name, short := range map[string]string{"output": "o", "write-out": "w", "max-time": "m", "connect-timeout": ""} {
		f.StringP(name, short, "", "")
		_ = f.MarkHidden(name)
	}
}

// build makes the request.
func (q *request) build(args []string) (*explain.Request, error) {
	if len(args) > 0 && args[0] == "curl" {
		args = args[1:]
	}
	q.data = slices.Concat(q.data, q.raw, q.binary)
	target := q.url
	switch {
	case len(args) > 1 || len(args) == 1 && target != "":
		return nil, fmt.Errorf("one path or URL is explained at a time, and %q is another", args[len(args)-1])
	case len(args) == 1:
		target = args[0]
	case target == "":
		return nil, errors.New("a path or URL is missing, such as /api/order")
	}
	if q.get && len(q.data) > 0 {
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		target += sep + strings.Join(q.data, "&")
	}
	if !strings.HasPrefix(target, "/") && !strings.Contains(target, "://") {
		target = "http://" + target // as curl reads it
	}
	r, err := explain.NewRequest(q.chosenMethod(), target)
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*explain.Request) error{q.addHeaders, q.addBody, q.addContext} {
		if err := add(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (q *request) chosenMethod() string {
	switch {
	case q.method != "":
		return q.method
	case q.head:
		return "HEAD"
	case len(q.data) > 0 && !q.get:
		return "POST"
	}
	return "GET"
}

func (q *request) addHeaders(r *explain.Request) error {
	basic := ""
	if q.user != "" {
		basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(q.user))
	}
	for name, value := range map[string]string{"user-agent": q.agent, "referer": q.referer, "authorization": basic} {
		if value != "" {
			if err := r.AddHeader(name, value); err != nil {
				return err
			}
		}
	}
	for _, c := range q.cookies {
		if err := r.AddHeader("cookie", c); err != nil {
			return err
		}
	}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		switch {
		case ok && strings.TrimSpace(value) == "":
			r.DropHeader(strings.TrimSpace(name))
			continue
		case !ok:
			return fmt.Errorf("-H %q is no header: write it as 'name: value'", h)
		}
		if err := r.AddHeader(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (q *request) addBody(r *explain.Request) error {
	if len(q.data) == 0 || q.get {
		return nil
	}
	n := int64(len(q.data) - 1) // an & between
	for _, d := range q.data {
		if file, ok := strings.CutPrefix(d, "@"); ok {
			s, err := os.Stat(file)
			if err != nil {
				return fmt.Errorf("-d %s: there is no such file to take the body's length from", d)
			}
			n += s.Size()
			continue
		}
		n += int64(len(d))
	}
	if _, ok := r.Header("content-type"); !ok {
		if err := r.AddHeader("content-type", "application/x-www-form-urlencoded"); err != nil {
			return err
		}
	}
	return r.AddHeader("content-length", strconv.FormatInt(n, 10))
}

// addContext adds what other filters and the connection know.
func (q *request) addContext(r *explain.Request) error {
	if q.ip != "" {
		ip, err := netip.ParseAddr(q.ip)
		if err != nil {
			return fmt.Errorf("--ip: %q is no address", q.ip)
		}
		r.From(ip)
	}
	if q.route != "" {
		r.SetRoute(q.route)
	}
	if q.jwt != "" {
		key, payload, err := readJWT(q.jwt)
		if err != nil {
			return err
		}
		if err := r.SetJWT(key, payload); err != nil {
			return err
		}
	}
	return errors.Join(
		each("--metadata", q.metadata, func(name, value string) error {
			return r.SetMetadata(name, explain.ParseValue(value))
		}),
		each("--filter-state", q.state, func(name, value string) error {
			r.SetFilterState(name, value)
			return nil
		}),
		each("--attr", q.attrs, r.SetAttribute),
	)
}

// each calls f with each name=value of a flag.
func each(flag string, list []string, f func(name, value string) error) error {
	for _, item := range list {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return fmt.Errorf("%s %q: write it as name=value", flag, item)
		}
		if err := f(name, value); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return nil
}

// readJWT reads a token's payload: JSON, KEY=JSON or a file with either.
func readJWT(text string) (key string, payload map[string]any, err error) {
	if !strings.Contains(text, "{") {
		b, err := os.ReadFile(text)
		if err != nil {
			return "", nil, fmt.Errorf("--jwt-payload: %q is neither a JSON object nor a file that can be read", text)
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "={"); i > 0 && !strings.HasPrefix(text, "{") {
		key, text = text[:i], text[i+1:]
	}
	if err := json.Unmarshal([]byte(text), &payload); err != nil {
		return "", nil, errors.New("--jwt-payload: a payload is a JSON object, such as {\"sub\": \"u1\"}")
	}
	return key, payload, nil
}

// ask explains a request under the overrides that hold now, and adds what Redis
// says of it. note is what else to know.
func ask(cmd *cobra.Command, flags *redisclient.Flags, policy *config.Policy, r *explain.Request) (x *explain.Explanation, note string, err error) {
	flags.Fill(redisDefaults(policy))
	rdb, err := flags.Connect(cmd.Context())
	if err != nil {
		return nil, "", redisError(flags, err)
	}
	defer rdb.Close()
	f, note, err := inForce(cmd.Context(), rdb, policy, policy.Redis.Prefix)
	if err != nil {
		return nil, "", redisError(flags, err)
	}
	x = explain.Explain(f.Engine, r, f.Now.UnixMicro())
	if err := x.Ask(cmd.Context(), look.New(rdb), flags.Cluster); err != nil {
		return nil, "", redisError(flags, err)
	}
	return x, note, nil
}
