package playground_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// maxPicture bounds a picture in the repository, bytes.
const maxPicture = 300 << 10

// The README's pictures: go test ./internal/playground -run Pictures -args -screenshots DIR.
// Without a folder they are taken and thrown away (go test -artifacts keeps them),
// so that the command keeps working.
func TestPictures(t *testing.T) {
	dir := *screenshots
	if dir == "" {
		dir = t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := start(t, example(t))
	light := open(t, r.url, look{width: 1280, height: 1040, still: true})
	// All of them now: a browser that starts takes the processors from Redis.
	dark := open(t, r.url, look{width: 1280, height: 1040, still: true, dark: true})
	phone := open(t, r.url, look{width: 360, height: 780, still: true, phone: true})
	stop := visitors(t, r.gateway)
	defer stop()
	light.write("#path", "/")
	light.write("#callers", "2")
	light.write("#rate", "41") // 138 a second
	light.click("#start")
	light.until("a limit rejects", `document.querySelector('[data-limit=per-ip]').classList.contains('rejecting')`)
	seconds := 6
	if *screenshots != "" {
		seconds = 40
	}
	light.until("the picture has a history", `(globalThis.seen ||= new Set()).add(document.querySelector('[data-limit=per-ip] .bar-admitted').getAttribute('d')).size > `+itoa(seconds))
	for _, p := range []*tab{light, dark, phone} {
		p.until("a rejection is shown", `!document.querySelector('#rejection').hidden`)
	}
	light.picture(dir, "playground-light.png", false)
	dark.picture(dir, "playground-dark.png", false)
	light.picture(t.ArtifactDir(), "whole.png", true)
	phone.picture(t.ArtifactDir(), "phone.png", true)
	for _, name := range []string{"playground-light.png", "playground-dark.png"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Size() > maxPicture || info.Size() < 20<<10 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// visitors send a little of everything, until stopped.
func visitors(t *testing.T, gateway string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			get(ctx, gateway+"/api/orders", "key-"+itoa(i*i%5))
			if i%5 == 0 {
				get(ctx, gateway+"/hello", "")
			}
			select {
			case <-ctx.Done():
			case <-time.After(120 * time.Millisecond):
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// get sends a request whose answer only the page is to show.
func get(ctx context.Context, url, key string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	if key != "" {
		req.Header.Set("x-api-key", key)
	}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}
