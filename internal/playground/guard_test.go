package playground

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const pageHost = "127.0.0.1:10010"

// guarded is a page without a gateway.
func guarded(t *testing.T) *Server {
	t.Helper()
	s, err := newServer(pageHost, Options{Gateway: "http://127.0.0.1:1", Settings: opened(t, "limits: [{name: a, rate: 1/s}]\n")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.load.stop)
	return s
}

// send sends a request to the page; headers are name, value, name, value….
func send(s *Server, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+pageHost+path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func TestWhoMayRead(t *testing.T) {
	s := guarded(t)
	for _, c := range []struct {
		name    string
		path    string
		headers []string
		want    int
	}{
		{"the address bar", "/", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
		{"no browser", "/", nil, 200},
		{"localhost", "/", []string{"Host", "localhost:10010"}, 200},
		{"a link elsewhere", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		{"a script of the page", "/app.js", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"another site's script tag", "/app.js", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"another site's fetch", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
		{"another site's event source", "/api/live", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port of this machine", "/api/live", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a foreign origin", "/app.js", []string{"Origin", "http://evil.example"}, 403},
		{"an origin of null", "/app.js", []string{"Origin", "null"}, 403},
		{"a name that was pointed here", "/", []string{"Host", "evil.example:10010"}, 421},
		{"the name without a port", "/", []string{"Host", "127.0.0.1"}, 421},
		{"another port", "/", []string{"Host", "127.0.0.1:80"}, 421},
		{"an empty name", "/", []string{"Host", ""}, 421},
		{"the page by its file", "/index.html", nil, 404},
		{"a folder", "/x/", nil, 404},
		{"a way up", "/..%2fguard.go", nil, 404},
	} {
		if w := send(s, http.MethodGet, c.path, "", c.headers...); w.Code != c.want {
			t.Errorf("%s: %d, expected %d: %s", c.name, w.Code, c.want, w.Body)
		}
	}
}

func TestWhoMayWrite(t *testing.T) {
	s := guarded(t)
	const body = `{"text":"limits: []"}`
	good := []string{"Content-Type", "application/json", tokenHeader, s.token, "Origin", "http://" + pageHost, "Sec-Fetch-Site", "same-origin"}
	with := func(pairs ...string) []string { return append(append([]string{}, good...), pairs...) }
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"the page", good, 200},
		{"the page by another name", with("Host", "localhost:10010", "Origin", "http://localhost:10010"), 200},
		{"without a token", with(tokenHeader, ""), 403},
		{"with another token", with(tokenHeader, s.token+"x"), 403},
		{"another site", with("Sec-Fetch-Site", "cross-site"), 403},
		{"another origin", with("Origin", "http://127.0.0.1:10011"), 403},
		{"the origin by https", with("Origin", "https://"+pageHost), 403},
		{"a form", with("Content-Type", "text/plain"), 415},
		{"a form's own type", with("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"a rebound name", with("Host", "evil.example"), 421},
	} {
		if w := send(s, http.MethodPost, "/api/check", body, c.headers...); w.Code != c.want {
			t.Errorf("%s: %d, expected %d: %s", c.name, w.Code, c.want, w.Body)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch} {
		if w := send(s, method, "/api/check", body, good...); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := send(s, http.MethodGet, "/api/check", "", good...); w.Code == 200 {
		t.Errorf("GET changes something: %d", w.Code)
	}
	if w := send(s, http.MethodPost, "/api/check", `{"text":"`+strings.Repeat("a", maxBody)+`"}`, good...); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %.100s", w.Code, w.Body)
	}
	for _, body := range []string{"", "{", "[]", `{"text":1}`, `{"other":""}`} {
		if w := send(s, http.MethodPost, "/api/check", body, good...); w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestThePageIsStrict(t *testing.T) {
	s := guarded(t)
	w := send(s, http.MethodGet, "/", "")
	csp := w.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(csp, part) {
			t.Errorf("the policy %q lacks %s", csp, part)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("the policy is %q", csp)
	}
	for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cache-Control"} {
		if w.Header().Get(name) == "" {
			t.Errorf("no %s", name)
		}
	}
	html := w.Body.String()
	if !strings.Contains(html, s.token) || strings.Contains(html, tokenPlace) {
		t.Error("the page lacks its token")
	}
	for _, bad := range []string{" style=", " onclick=", "https://", "<style", "<script>"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	other := guarded(t)
	if other.token == s.token {
		t.Error("two starts have the same token")
	}
}

func TestNoForeignAddressInTheAssets(t *testing.T) {
	entries, err := embedded.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := embedded.ReadFile("static/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if i := strings.Index(line, "//"); i > 0 && strings.Contains(line, "://") &&
				!strings.Contains(line, "http://www.w3.org/") && !strings.Contains(line, "http://127.0.0.1:") && !strings.Contains(line, "http://${x.admin}/") {
				t.Errorf("%s names another place: %s", e.Name(), strings.TrimSpace(line))
			}
		}
	}
}

func TestOnlyThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0"} {
		l, err := listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Start(l, Options{Settings: opened(t, "limits: []\n")}); err == nil {
			s.Stop()
			t.Errorf("it serves %s", addr)
		}
		l.Close()
	}
}

func TestTooManyPages(t *testing.T) {
	s := guarded(t)
	for range maxStreams {
		if _, _, err := s.hub.join(); err != nil {
			t.Fatal(err)
		}
	}
	if w := send(s, http.MethodGet, "/api/live", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one page too many: %d", w.Code)
	}
}
