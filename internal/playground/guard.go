package playground

import (
	"crypto/subtle"
	"mime"
	"net/http"
	"slices"
)

// tokenHeader carries the token of this start, which only the page knows.
const tokenHeader = "X-Sluice-Token"

// maxBody bounds what is posted, bytes: a configuration, escaped as JSON.
const maxBody = 4 << 20

// policyOfContent lets the page load what this server has and nothing else.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// guard lets only this machine's own page in. Any web page that is open in the
// same browser can send requests here, and can point a name of its own at
// 127.0.0.1: the Host and Fetch Metadata headers, which pages can't set, tell.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyOfContent)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(s.hosts, r.Host) {
			refuse(w, http.StatusMisdirectedRequest, "this page answers at http://"+s.hosts[0]+"/ only")
			return
		}
		if !sameSite(r) {
			refuse(w, http.StatusForbidden, "requests of other sites are refused")
			return
		}
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		if status, why := s.mayWrite(r); why != "" {
			refuse(w, status, why)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// sameSite reports whether a request comes from the page itself, from the
// address bar, or from no browser at all. Following a link to the page is fine.
func sameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		if r.Method != http.MethodGet || r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return false
		}
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host
}

// mayWrite says why a request may not change anything, "" when it may.
func (s *Server) mayWrite(r *http.Request) (status int, why string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "only GET and POST"
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.token)) != 1 {
		return http.StatusForbidden, "the page is from another start of sluice dev: load it anew"
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "expected application/json"
	}
	return 0, ""
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(why + "\n"))
}
