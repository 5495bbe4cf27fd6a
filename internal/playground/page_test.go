package playground_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A visitor's way through the page, on a real Envoy and a real Redis.
func TestPage(t *testing.T) {
	r := start(t, example(t))
	p := open(t, r.url, desktop)
	p.until("Envoy's workers are shown", `document.querySelector('#status-envoy').textContent.includes('2 workers')`)

	// Traffic, and a rejection.
	p.write("#path", "/hello")
	p.click("#start")
	p.until("hello rejects", `document.querySelector('[data-limit=hello]').classList.contains('rejecting')`)
	p.until("the rejection is shown as it came", `document.querySelector('#rejection-text').textContent.includes('Rate limit hello exceeded')`)
	for _, part := range []string{"HTTP/1.1 429 Too Many Requests", "retry-after: ", `ratelimit: "hello";r=0;t=`} {
		if got := p.text("#rejection-text"); !strings.Contains(got, part) {
			t.Errorf("%s isn't in\n%s", part, got)
		}
	}
	p.until("the counter is full", `[...document.querySelectorAll('[data-limit=hello] .amount')].some(e => e.textContent.startsWith('full: 5 of 5'))`)
	p.until("it is announced", `document.querySelector('#announcements').textContent.startsWith('hello rejects')`)
	p.until("the stream splits", `Number(document.querySelector('#flow-stopped').textContent) > 0`)
	p.until("the strip has words", `/\d+ rejected/.test(document.querySelector('#strip').getAttribute('aria-label'))`)
	p.until("the chart has words", `/hello, the last minute: 5 admitted, \d+ rejected/.test(document.querySelector('[data-limit=hello] .chart').getAttribute('aria-label'))`)
	p.until("Redis's latency is shown", `/(µs|ms)$/.test(document.querySelector('#redis-p50').textContent)`)

	// Why.
	p.click("#explain-rejection")
	p.until("hello is explained", `[...document.querySelectorAll('.words .applies')].some(e => e.textContent.includes('hello applies') && e.textContent.includes('rl:{hello|127.0.0.1}:log1'))`)
	p.write("#ask", "curl -X POST 'http://shop.example/api/x' -H 'x-api-key: k' --ip 203.0.113.9")
	p.click("#explain-form .primary")
	p.until("another request is explained", `document.querySelector('.words .passes')?.textContent.includes('hello doesn’t apply, it needs path: /hello')`)
	if got := p.text("#explanation details"); !strings.Contains(got, "EVALSHA") || !strings.Contains(got, "rl:{per-ip|203.0.113.9}:log1") {
		t.Errorf("the call: %s", got)
	}
	p.click("#send-one")
	p.until("one request is answered", `document.querySelector('#explanation').textContent.includes('HTTP/1.1 200 OK') && document.querySelector('#explanation').textContent.includes('q=100;w=60')`)
	p.write("#ask", "curl --upload-file x")
	p.click("#explain-form .primary")
	p.until("a wrong one is refused in words", `document.querySelector('#explain-error').textContent.includes('isn\'t understood')`)

	t.Run("a mistake in the configuration", func(t *testing.T) { mistakes(t, p) })
	t.Run("a change of the configuration", func(t *testing.T) { change(t, r, p) })
	t.Run("Redis breaks", func(t *testing.T) { breaks(t, r, p) })

	p.click("#start")
	p.until("the traffic ends", `document.querySelector('#start').textContent === 'Start'`)
	p.click("#theme")
	p.until("the theme changes", `document.documentElement.dataset.theme === 'dark' && document.querySelector('#theme').getAttribute('aria-pressed') === 'true'`)
}

// mistakes types errors and sees them where they are.
func mistakes(t *testing.T, p *tab) {
	p.t = t
	text := eval[string](p, `document.querySelector('#text').value`)
	wrong := strings.Replace(text, "rate: 5/min", "rate: 5 per min", 1)
	p.write("#text", wrong)
	line := 1 + strings.Count(wrong[:strings.Index(wrong, "5 per min")], "\n")
	p.until("the error is inline", fmt.Sprintf(`document.querySelector('#backdrop').children[%d].querySelector('.lens')?.textContent.includes('5/min?')`, line-1))
	p.until("its line is marked", fmt.Sprintf(`document.querySelector('#gutter .wrong')?.textContent === '%d'`, line))
	p.until("it is listed", fmt.Sprintf(`document.querySelector('#problems').textContent.includes('%d:9 limits[0].rate: ')`, line))
	p.until("nothing can be applied", `document.querySelector('#apply').disabled && document.querySelector('#text').getAttribute('aria-invalid') === 'true'`)
	p.click("#problems button")
	at := eval[int](p, `document.querySelector('#text').selectionStart`)
	if want := strings.Index(wrong, "5 per min"); at != want {
		t.Errorf("the caret is at %d, expected %d", at, want)
	}
	p.click("#revert")
	p.until("it is as before", `document.querySelector('#text').value === `+strconv.Quote(text)+` && document.querySelector('#config-state').classList.contains('good')`)
	p.until("no error is left", `!document.querySelector('#problems li') && !document.querySelector('.lens')`)
}

// change applies another limit, which holds at once and knows what was counted.
func change(t *testing.T, r *rig, p *tab) {
	p.t = t
	text := eval[string](p, `document.querySelector('#text').value`)
	p.write("#text", strings.Replace(text, "rate: 5/min", "rate: 700/min", 1))
	p.until("it can be applied", `!document.querySelector('#apply').disabled`)
	p.click("#apply")
	p.until("it is in force", `document.querySelector('#config-state').classList.contains('good') && document.querySelector('[data-limit=hello] .limit-rate').textContent === '700/min'`)
	resp, err := http.Get(r.gateway + "/hello")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if policy := resp.Header.Get("ratelimit-policy"); resp.StatusCode != 200 || !strings.Contains(policy, `"hello";q=700;w=60`) {
		t.Errorf("the gateway answers %d, %s", resp.StatusCode, policy)
	}
	p.until("hello admits again", `Number(document.querySelector('[data-limit=hello] .figures .admitted b').textContent) > 0 && !document.querySelector('[data-limit=hello]').classList.contains('rejecting')`)
	// The 5 of before count: the log goes on.
	p.until("the counts were kept", `[...document.querySelectorAll('[data-limit=hello] .amount')].some(e => /^\d+ of 700$/.test(e.textContent) && parseInt(e.textContent) > 5)`)
	p.click("#original")
	p.until("the file's text is back", `!document.querySelector('#apply').disabled`)
	p.run("apply by the keyboard", chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl
	p.until("it is in force", `document.querySelector('[data-limit=hello] .limit-rate').textContent === '5/min'`)
}

// breaks kills Redis and mends it: the gateway goes on in between.
func breaks(t *testing.T, r *rig, p *tab) {
	p.t = t
	p.write("#path", "/")
	p.until("the change of the traffic is sent", `Number(document.querySelector('[data-limit=per-ip] .figures .admitted b').textContent) > 0`)
	p.click(`#break [data-do=kill]`)
	p.until("it shows", `document.querySelector('#status-redis').textContent.includes('Redis is stopped')`)
	p.until("the gateway decides", `[...document.querySelectorAll('#modes li')].some(e => !e.hidden && e.textContent.includes('by this gateway') && e.querySelector('b').textContent !== '0%')`)
	p.until("the breaker opens", `document.querySelector('#redis-breaker').textContent.startsWith('open in')`)
	resp, err := http.Get(r.gateway + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("without Redis: %s", resp.Status)
	}
	p.click(`#break [data-do=mend]`)
	p.until("Redis is back", `document.querySelector('#status-redis').textContent === 'Redis'`)
	p.until("Redis decides again", `document.querySelector('#modes li b').textContent === '100%'`)
}

// What is saved in the file shows on the page.
func TestAnotherConfigurationShows(t *testing.T) {
	r := start(t, example(t))
	p := open(t, r.url, desktop)
	if wrong, err := r.settings.Apply(t.Context(), "limits: [{name: fresh, rate: 3/s, shadow: true}]\n", "file"); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	r.page.Changed()
	p.until("the new limit shows", `document.querySelector('[data-limit=fresh] .what')?.textContent.includes('shadow')`)
	p.until("so does its text", `document.querySelector('#text').value.includes('fresh')`)
	if wrong, err := r.settings.Apply(t.Context(), "limits: []\n", "file"); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	r.page.Changed()
	p.until("no limit is left", `!document.querySelector('#no-limits').hidden`)
}
