package playground

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/internal/source"
)

// Bounds on what the page can ask for.
const (
	MaxRate    = 2000 // requests a second
	MaxCallers = 200
	maxHeaders = 20
	maxLine    = 2000 // bytes of a path, and of all headers
)

// Traffic is the traffic that a page asks for. {caller} in the path and in
// headers is the caller's number, from 1.
type Traffic struct {
	Rate    int    `json:"rate"` // requests a second; 0 for none
	Callers int    `json:"callers"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Headers string `json:"headers"` // a line each, name: value
}

// callerPlace stands for the caller's number.
const callerPlace = "{caller}"

// header is a header field to send.
type header struct{ name, value string }

// check returns the headers, or what is wrong.
func (t *Traffic) check() ([]header, error) {
	switch {
	case t.Rate < 0 || t.Rate > MaxRate:
		return nil, fmt.Errorf("the rate goes from 0 to %d a second", MaxRate)
	case t.Callers < 1 || t.Callers > MaxCallers:
		return nil, fmt.Errorf("there are from 1 to %d callers", MaxCallers)
	case !source.Token(t.Method):
		return nil, fmt.Errorf("%q is not a method", t.Method)
	case t.Method == http.MethodConnect:
		return nil, errors.New("CONNECT has no path to send to")
	}
	if err := checkPath(t.Path); err != nil {
		return nil, err
	}
	return parseHeaders(t.Headers)
}

func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") || len(path) > maxLine {
		return fmt.Errorf("a path begins with / and has at most %d characters", maxLine)
	}
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return errors.New("a path has no spaces, # or characters beyond ASCII: write them as %20")
		}
	}
	return nil
}

// parseHeaders reads header lines.
func parseHeaders(text string) ([]header, error) {
	if len(text) > maxLine {
		return nil, fmt.Errorf("the headers have at most %d characters", maxLine)
	}
	var out []header
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !source.Token(name) {
			return nil, fmt.Errorf("%q is not a header: write name: value", line)
		}
		if err := sendable(name, value); err != nil {
			return nil, err
		}
		if out = append(out, header{name, value}); len(out) > maxHeaders {
			return nil, fmt.Errorf("there are at most %d headers", maxHeaders)
		}
	}
	return out, nil
}

// sendable refuses headers that change how a request is framed, and values that
// would end one.
func sendable(name, value string) error {
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "proxy-connection", "expect":
		return fmt.Errorf("the header %s is the connection's own and can't be chosen", name)
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("the value of %s has a control character in it", name)
		}
	}
	return nil
}

// request makes the request of one caller.
func (t *Traffic) request(gateway string, headers []header, caller int) (*http.Request, error) {
	number := strconv.Itoa(caller)
	path := strings.ReplaceAll(t.Path, callerPlace, number)
	out := make([]header, len(headers))
	for i, h := range headers {
		out[i] = header{h.name, strings.ReplaceAll(h.value, callerPlace, number)}
	}
	return newRequest(gateway, t.Method, path, "", out)
}

// newRequest makes a request to the gateway whose path goes out as it is.
func newRequest(gateway, method, path, host string, headers []header) (*http.Request, error) {
	req, err := http.NewRequest(method, gateway, http.NoBody)
	if err != nil {
		return nil, err
	}
	setTarget(req.URL, path)
	req.Host = host
	if host == "" {
		req.Host = req.URL.Host
	}
	req.Header.Set("User-Agent", "sluice-playground")
	seen := map[string]bool{}
	for _, h := range headers {
		name := http.CanonicalHeaderKey(h.name)
		switch {
		case name == "Host":
			req.Host = h.value
		case seen[name]:
			req.Header.Add(name, h.value)
		default:
			req.Header.Set(name, h.value)
		}
		seen[name] = true
	}
	return req, nil
}

// setTarget sets a path and query as they were typed: how spellings of a path
// are told apart is worth trying.
func setTarget(u *url.URL, target string) {
	if !strings.HasPrefix(target, "//") {
		u.Opaque = target
		return
	}
	// Behind two slashes a host would follow.
	path, query, _ := strings.Cut(target, "?")
	u.RawPath, u.RawQuery = path, query
	var err error
	if u.Path, err = url.PathUnescape(path); err != nil {
		u.Path = path // and is escaped anew
	}
}
