package playground_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// audit finds what people who don't see the page, or not well, would stumble
// over. It returns a list of complaints.
const audit = `(() => {
  const bad = [];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest('[hidden]');
  const words = (e) => (e.textContent || '').trim();
  const say = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.trim ? '.' + e.className : '');
  const named = (e) => e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)).filter(Boolean).map(words).join(' ')
    || [...(e.labels || [])].map(words).join(' ') || (['A', 'BUTTON', 'SUMMARY'].includes(e.tagName) ? words(e) : '');

  for (const e of document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"], [role=img], [role=meter], [role=group], [role=region]')) {
    if (shown(e) && !named(e)) bad.push('without a name: ' + say(e));
  }
  for (const e of document.querySelectorAll('section')) if (!named(e)) bad.push('a section without a name: ' + say(e));
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) bad.push('a picture without words: ' + say(e));
  for (const e of document.querySelectorAll('svg')) if (!e.closest('[aria-hidden=true]') && e.getAttribute('role') !== 'img') bad.push('a drawing without a role: ' + say(e));
  for (const e of document.querySelectorAll('[role=meter]')) for (const a of ['aria-valuenow', 'aria-valuemin', 'aria-valuemax']) if (!e.hasAttribute(a)) bad.push(say(e) + ' without ' + a);
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) bad.push('twice: #' + id);
  for (const a of ['aria-labelledby', 'aria-describedby', 'for']) for (const e of document.querySelectorAll('[' + a + ']')) {
    for (const id of e.getAttribute(a).split(' ')) if (!document.getElementById(id)) bad.push(say(e) + ' names #' + id + ', which isn’t there');
  }
  if (!document.documentElement.lang || !document.title) bad.push('no language or title');
  for (const [what, n] of [['h1', 1], ['main', 1], ['header', 1], ['footer', 1]]) if (document.querySelectorAll(what).length !== n) bad.push('not one ' + what);
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4')) {
    if (!shown(e)) continue;
    const l = Number(e.tagName[1]);
    if (l > level + 1) bad.push('a heading skips a level: ' + words(e));
    level = l;
  }
  if (document.querySelector('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')) bad.push('a tabindex above 0');

  // Contrast, as WCAG 2 computes it.
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const ctx = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    ctx.clearRect(0, 0, 1, 1);
    ctx.fillStyle = colour;
    ctx.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = ctx.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
  let texts = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const done = new Set();
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || done.has(e) || !shown(e) || e.closest('button:disabled, .hidden, .skip, script, option, textarea')) continue;
    done.add(e);
    const style = getComputedStyle(e);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const back = ground(e);
    const front = e.closest('svg') ? rgba(style.fill) : rgba(style.color);
    const ratio = contrast(over(front, back), back);
    texts++;
    if (ratio < (large ? 3 : 4.5)) bad.push(say(e) + ' “' + words(e).slice(0, 30) + '” has a contrast of ' + ratio.toFixed(2));
  }
  if (texts < 50) bad.push('only ' + texts + ' texts were looked at');
  for (const e of document.querySelectorAll('input[type=text], select, textarea:not(#text), .editor')) {
    const edge = contrast(rgba(getComputedStyle(e).borderTopColor), ground(e.parentElement));
    if (edge < 3) bad.push(say(e) + ' has an edge with a contrast of ' + edge.toFixed(2));
  }
  const style = getComputedStyle(document.documentElement);
  const value = (name) => rgba(style.getPropertyValue(name));
  for (const [a, b, least] of [['--accent', '--card', 4.5], ['--accent', '--ground', 4.5], ['--accent-ink', '--accent', 4.5], ['--stop', '--card', 4.5], ['--stop', '--ground', 4.5],
    ['--ink', '--card', 7], ['--muted', '--ground', 4.5], ['--muted', '--sunken', 4.5], ['--edge', '--card', 3], ['--edge', '--ground', 3], ['--focus', '--ground', 3], ['--focus', '--card', 3]]) {
    const ratio = contrast(value(a), value(b));
    if (ratio < least) bad.push(a + ' on ' + b + ' has a contrast of ' + ratio.toFixed(2));
  }
  return bad;
})()`

// busy makes the page show everything that it can.
func busy(p *tab) {
	p.t.Helper()
	p.write("#path", "/hello")
	p.click("#start")
	p.until("a rejection is shown", `!document.querySelector('#rejection').hidden && document.querySelector('[data-limit=hello]').classList.contains('rejecting')`)
	p.until("a counter is full", `document.querySelector('[data-limit=hello] .full')`)
	eval[bool](p, `(document.querySelectorAll('details').forEach(d => d.open = true), true)`)
	p.write("#text", "limits:\n# a comment\n- name: hello\n  burts: 5\n")
	p.until("an error is shown", `document.querySelector('.lens') && document.querySelector('#problems li')`)
}

func TestAccessible(t *testing.T) {
	r := start(t, example(t))
	for name, l := range map[string]look{
		"light":          {width: 1280, height: 900, still: true},
		"dark":           {width: 1280, height: 900, still: true, dark: true},
		"a phone, dark":  {width: 360, height: 780, still: true, phone: true, dark: true},
		"a narrow phone": {width: 320, height: 640, still: true, phone: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, r.url, l)
			theme := eval[string](p, `document.documentElement.dataset.theme`)
			if (theme == "dark") != l.dark {
				t.Errorf("the theme is %s", theme)
			}
			busy(p)
			for _, complaint := range eval[[]string](p, audit) {
				t.Error(complaint)
			}
			if w := eval[int64](p, `document.documentElement.scrollWidth`); w > l.width {
				t.Errorf("the page is %d wide: %v", w, eval[[]string](p, `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.editor, .scroll, .answer')).map(e => e.tagName + '.' + e.className + '#' + e.id)`))
			}
			if l.phone {
				small := eval[[]string](p, `[...document.querySelectorAll('button')].filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 28).map(e => e.id || e.textContent)`)
				if len(small) > 0 {
					t.Errorf("too small for a finger: %q", small)
				}
			}
			if moving := eval[int](p, `document.getAnimations().filter(a => a.playState === 'running').length`); moving > 0 {
				t.Errorf("%d things move for one who asked for none", moving)
			}
			p.picture(t.ArtifactDir(), "page.png", true)
			p.click("#start")
			p.until("the traffic ends", `document.querySelector('#start').textContent === 'Start'`)
		})
	}
}

// Tab goes through everything in the order of the text, shows where it is, and
// leaves the editor.
func TestTheKeyboardReachesEverything(t *testing.T) {
	r := start(t, example(t))
	p := open(t, r.url, desktop)
	busy(p)
	p.write("#rate", "20")
	const name = `((e) => e.id || e.textContent.trim().slice(0, 20) || e.className)`
	want := eval[[]string](p, `[...document.querySelectorAll('a[href], button:not(:disabled), input, select, textarea, summary, [tabindex="0"]')].filter(e => e.checkVisibility()).map(`+name+`)`)
	eval[bool](p, `(document.querySelector('.skip').focus(), true)`)
	got := want[:1:1]
	for range len(want) - 1 {
		p.run("Tab", chromedp.KeyEvent(kb.Tab))
		at := eval[[]string](p, `(() => { const e = document.activeElement; const s = getComputedStyle(e.id === 'text' ? document.querySelector('#editor') : e); return [`+name+`(e), s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2 ? 'unseen' : '']; })()`)
		got = append(got, at[0])
		if at[1] != "" {
			t.Errorf("the focus on %s can't be seen", at[0])
		}
	}
	if strings.Join(got, " | ") != strings.Join(want, " | ") {
		t.Errorf("Tab goes\n%q, expected\n%q", got, want)
	}
	for _, id := range []string{"theme", "start", "rate", "text", "ask", "explain-rejection"} {
		if !slices.Contains(want, id) {
			t.Errorf("%s can't be reached: %q", id, want)
		}
	}
	// Enter on what has the focus does what a click does.
	eval[bool](p, `(document.querySelector('#start').focus(), true)`)
	p.run("Enter", chromedp.KeyEvent(kb.Enter))
	p.until("the traffic ends", `document.querySelector('#start').textContent === 'Start'`)
}
