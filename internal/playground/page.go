package playground

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"net/http"
)

//go:embed static
var embedded embed.FS

// tokenPlace stands in the page for the token.
const tokenPlace = "SLUICE_TOKEN"

// renderPage is the page's HTML with the token in it.
func renderPage(token string) ([]byte, error) {
	html, err := embedded.ReadFile("static/index.html")
	if err != nil {
		return nil, err
	}
	if bytes.Count(html, []byte(tokenPlace)) != 1 {
		return nil, errors.New("the page has no place for its token")
	}
	return bytes.Replace(html, []byte(tokenPlace), []byte(token), 1), nil
}

// servePage answers with the page itself.
func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(s.page)
}

// files are the page's scripts and styles. The page itself isn't among them.
func files() http.Handler {
	sub, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // the name is right above
	}
	server := http.FileServerFS(sub)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/index.html" || r.URL.Path[len(r.URL.Path)-1] == '/' {
			http.NotFound(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}
