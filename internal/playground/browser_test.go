package playground_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// pageWait is how long anything on the page may take: the machine may be busy.
const pageWait = 60 * time.Second

const chromiumHelp = "set CHROMIUM to the path of Chromium or Chrome, or install it (Debian: apt-get install chromium)"

// chromium finds the browser.
func chromium(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "chrome"}
	if path := os.Getenv("CHROMIUM"); path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("no browser (%s): %s", strings.Join(names, ", "), chromiumHelp)
	return ""
}

// look says how a person looks at the page.
type look struct {
	width, height int64
	dark, still   bool // still: prefers-reduced-motion
	phone         bool
}

var desktop = look{width: 1280, height: 900}

// tab is the page in a browser.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string // the console's errors
}

// open opens a page in a browser of its own. The test fails if the console has
// errors at its end.
func open(t testing.TB, url string, l look) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.WindowSize(int(l.width), int(l.height)),
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(pageWait),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses one to root
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(allocated)
	t.Cleanup(cancelTab)
	b := &tab{t: t, ctx: ctx}
	// The browser lives as long as the context of its first actions.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(l.width, l.height, func(p *emulation.SetDeviceMetricsOverrideParams, _ *emulation.SetTouchEmulationEnabledParams) {
		p.Mobile = l.phone
	})); err != nil {
		t.Fatalf("start %s: %v", chromium(t), err)
	}
	go b.listen()
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.complaints) > 0 {
			t.Errorf("the console says:\n%s", strings.Join(b.complaints, "\n"))
		}
	})
	theme, motion := "light", "no-preference"
	if l.dark {
		theme = "dark"
	}
	if l.still {
		motion = "reduce"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: motion},
	}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	b.run("open the page", chromedp.Navigate(url))
	b.until("the page is connected", `document.querySelectorAll('.limit').length > 0`)
	return b
}

// listen notes what the console complains of.
func (b *tab) listen() {
	for m, err := range chromedp.Console(b.ctx) {
		if err != nil {
			return
		}
		if m.IsException() || m.Type == "error" || m.Type == "warning" {
			b.mu.Lock()
			b.complaints = append(b.complaints, m.String())
			b.mu.Unlock()
		}
	}
}

// value runs an action that has a value.
func value[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageWait)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// run does something on the page.
func (b *tab) run(what string, action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	value(b, what, action)
}

// eval reads a JavaScript expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return value(b, expression, chromedp.Evaluate[T](expression))
}

// until waits until a JavaScript expression holds.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, pageWait)
	defer cancel()
	poll := chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(pageWait))
	if _, err := chromedp.Run(ctx, poll); err != nil {
		says, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
		b.t.Fatalf("waiting until %s: %v\nthe page says:\n%s", what, err, says)
	}
}

// text is what an element says.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return value(b, "read "+selector, chromedp.TextContent(selector))
}

// write puts a text into the field, as typing does.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`, selector, text))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.run("click "+selector, chromedp.Click(selector))
}

// picture writes what is seen, or the whole page, to a file.
func (b *tab) picture(dir, name string, whole bool) {
	b.t.Helper()
	action := chromedp.CaptureScreenshot()
	if whole {
		action = chromedp.FullScreenshot(100)
	}
	png := value(b, "take a picture", action)
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
