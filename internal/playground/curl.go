package playground

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"sluice/internal/source"
)

// Ask is a request that a person typed.
type Ask struct {
	Method  string
	Scheme  string // http or https
	Host    string // "" for the gateway's own
	Path    string // with the query
	Headers []AskHeader
	IP      netip.Addr // the client's; the zero one for the machine's own
}

// AskHeader is one of its header fields.
type AskHeader struct{ Name, Value string }

// maxAsk bounds what is typed, bytes.
const maxAsk = 4000

// ParseAsk reads a request as curl's command line has it: with or without the
// word curl, a URL or a path, -X, -H, -d, -A, -b, -e and -I. --ip is ours: it
// says which address the request comes from.
func ParseAsk(line string) (*Ask, error) {
	if len(line) > maxAsk {
		return nil, fmt.Errorf("a request has at most %d characters", maxAsk)
	}
	words, err := shellWords(line)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && words[0] == "curl" {
		words = words[1:]
	}
	a := &Ask{Scheme: "http"}
	p := askParser{ask: a, words: words}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if a.Method == "" {
		a.Method = http.MethodGet
		if p.data {
			a.Method = http.MethodPost
		}
	}
	if !source.Token(a.Method) {
		return nil, fmt.Errorf("%q is not a method", a.Method)
	}
	if a.Path == "" {
		return nil, errors.New("it has no path: type one, such as /hello")
	}
	return a, nil
}

type askParser struct {
	ask   *Ask
	words []string
	data  bool
}

// silent are options of curl's that change nothing here.
var silent = map[string]bool{
	"-s": true, "-S": true, "-i": true, "-v": true, "-k": true, "-L": true, "-sS": true, "-si": true, "-is": true,
	"--silent": true, "--show-error": true, "--include": true, "--verbose": true, "--insecure": true,
	"--location": true, "--compressed": true, "--http1.1": true, "--http2": true, "--fail": true, "-f": true,
}

func (p *askParser) parse() error {
	for len(p.words) > 0 {
		w := p.words[0]
		p.words = p.words[1:]
		if silent[w] {
			continue
		}
		if !strings.HasPrefix(w, "-") || w == "-" {
			if err := p.target(w); err != nil {
				return err
			}
			continue
		}
		name, value, err := p.option(w)
		if err != nil {
			return err
		}
		if err := p.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// option splits -XPOST, --request=POST, and an option and the word after it.
func (p *askParser) option(w string) (name, value string, err error) {
	if !strings.HasPrefix(w, "--") && len(w) > 2 {
		return w[:2], w[2:], nil
	}
	if name, value, ok := strings.Cut(w, "="); ok {
		return name, value, nil
	}
	if w == "-I" || w == "--head" {
		return w, "", nil
	}
	if len(p.words) == 0 {
		return "", "", fmt.Errorf("%s needs a value", w)
	}
	value = p.words[0]
	p.words = p.words[1:]
	return w, value, nil
}

func (p *askParser) set(name, value string) error {
	a := p.ask
	switch name {
	case "-X", "--request":
		a.Method = value
	case "-I", "--head":
		a.Method = http.MethodHead
	case "-H", "--header":
		n, v, ok := strings.Cut(value, ":")
		if n = strings.TrimSpace(n); !ok || !source.Token(n) {
			return fmt.Errorf("%q is not a header: write -H 'name: value'", value)
		}
		return p.header(n, strings.TrimSpace(v))
	case "-A", "--user-agent":
		return p.header("user-agent", value)
	case "-b", "--cookie":
		return p.header("cookie", value)
	case "-e", "--referer":
		return p.header("referer", value)
	case "-d", "--data", "--data-raw", "--data-binary", "--json":
		p.data = true
	case "--ip":
		ip, err := netip.ParseAddr(value)
		if err != nil {
			return fmt.Errorf("%q is not an address", value)
		}
		a.IP = ip.Unmap().WithZone("")
	case "--url":
		return p.target(value)
	default:
		return fmt.Errorf("%s isn't understood here; -X, -H, -d, -A, -b, -e, -I and --ip are", name)
	}
	return nil
}

func (p *askParser) header(name, value string) error {
	if err := sendable(name, value); err != nil {
		return err
	}
	if strings.EqualFold(name, "host") {
		p.ask.Host = value
		return nil
	}
	if len(p.ask.Headers) == maxHeaders {
		return fmt.Errorf("there are at most %d headers", maxHeaders)
	}
	p.ask.Headers = append(p.ask.Headers, AskHeader{strings.ToLower(name), value})
	return nil
}

// target takes a URL or a path; a method before it is one, too: POST /api.
func (p *askParser) target(w string) error {
	a := p.ask
	if a.Path != "" {
		return fmt.Errorf("%q is one target too many", w)
	}
	if a.Method == "" && !strings.ContainsAny(w, "/.:?") && strings.ToUpper(w) == w && source.Token(w) {
		a.Method = w
		return nil
	}
	w, _, _ = strings.Cut(w, "#")
	scheme, rest, ok := strings.Cut(w, "://")
	if !ok {
		scheme, rest = "http", w
		if strings.HasPrefix(w, "/") {
			a.Path = w
			return checkPath(w)
		}
	}
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return fmt.Errorf("%q is neither http nor https", scheme)
	}
	host, path := rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
		if path[0] == '?' {
			path = "/" + path
		}
	}
	if host == "" || strings.ContainsAny(host, " @\\") {
		return fmt.Errorf("%q has no host that a request could go to", w)
	}
	a.Scheme, a.Path = scheme, path
	if a.Host == "" {
		a.Host = host
	}
	return checkPath(path)
}

// shellWords splits a line as a shell does, quotes and backslashes included.
func shellWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote, escaped := false, rune(0), false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
			if c != '\n' {
				word.WriteRune(c)
				in = true
			}
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is opened and not closed", quote)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// curl is the command that sends a request.
func curl(req *http.Request) string {
	if req == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("curl -i ")
	if req.Method != http.MethodGet {
		b.WriteString("-X " + req.Method + " ")
	}
	if req.Host != req.URL.Host {
		b.WriteString("-H " + quoted("host: "+req.Host) + " ")
	}
	for name, values := range req.Header {
		if name == "User-Agent" {
			continue
		}
		for _, v := range values {
			b.WriteString("-H " + quoted(strings.ToLower(name)+": "+v) + " ")
		}
	}
	b.WriteString(quoted("http://" + req.URL.Host + req.URL.RequestURI()))
	return b.String()
}

// quoted is a word that a shell takes as it is.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
