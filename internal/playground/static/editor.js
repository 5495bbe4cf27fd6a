// The configuration: a text with line numbers, its errors where they are, and
// the way into the gateway.
import { $, h, post, text, later } from './dom.js';
import { colour } from './yaml.js';

let live = { text: '', origin: '', version: 0 };
let problems = [];
let checked = ''; // the text that problems are about
let busy = false;
let failure = '';

const area = () => $('text');

export function start() {
  area().addEventListener('input', () => { failure = ''; paint(); check(); });
  area().addEventListener('scroll', scroll);
  area().addEventListener('keydown', (e) => {
    if (e.key !== 'Enter') return;
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); apply(); return; }
    if (e.shiftKey || e.altKey || e.isComposing) return;
    e.preventDefault();
    indent();
  });
  $('apply').addEventListener('click', apply);
  $('revert').addEventListener('click', () => replace(live.text));
  $('original').addEventListener('click', () => replace(live.origin));
}

/** config takes in what the gateway runs. */
export function config(c) {
  const untouched = area().value === live.text;
  const first = live.version === 0;
  live = c;
  text($('original'), `As in ${c.name.split('/').at(-1)}`);
  $('config-notes').replaceChildren(...(c.notes || []).map((n) => h('li', {}, n)));
  if (first || untouched) {
    area().value = c.text;
    problems = [];
    checked = c.text;
  }
  paint();
}

const check = later(250, async () => {
  const asked = area().value;
  try {
    const answer = await post('/api/check', { text: asked });
    if (asked !== area().value) return; // it went on
    problems = answer.problems;
    checked = asked;
  } catch (e) {
    failure = e.message;
  }
  paint();
});

async function apply() {
  if (busy || area().value === live.text) return;
  busy = true;
  failure = '';
  paint();
  const sent = area().value;
  try {
    const answer = await post('/api/apply', { text: sent });
    problems = answer.problems;
    checked = sent;
    busy = false;
    if (answer.config) {
      window.dispatchEvent(new CustomEvent('sluice-config', { detail: answer.config }));
      return;
    }
    goTo(problems[0]);
  } catch (e) {
    failure = e.message;
  }
  busy = false;
  paint();
}

/** replace puts another text in, in a way that undo takes back. */
function replace(value) {
  area().focus();
  area().select();
  // The only way that keeps the browser's own undo; where it is gone, plainly.
  if (!document.execCommand('insertText', false, value)) {
    area().value = value;
    area().dispatchEvent(new Event('input', { bubbles: true }));
  }
  area().setSelectionRange(0, 0);
  area().scrollTop = 0;
}

/** indent begins a line below the one before, and one step in after a colon. */
function indent() {
  const before = area().value.slice(0, area().selectionStart).split('\n').at(-1);
  let room = before.match(/^ */)[0];
  if (/:\s*$/.test(before)) room += '  ';
  if (!document.execCommand('insertText', false, `\n${room}`)) {
    area().setRangeText(`\n${room}`, area().selectionStart, area().selectionEnd, 'end');
    area().dispatchEvent(new Event('input', { bubbles: true }));
  }
}

function goTo(problem) {
  if (!problem || !problem.line) return;
  const lines = area().value.split('\n');
  const at = lines.slice(0, problem.line - 1).reduce((n, l) => n + l.length + 1, 0) + Math.max(0, problem.column - 1);
  area().focus();
  area().setSelectionRange(at, at);
  const height = parseFloat(getComputedStyle(area()).lineHeight);
  area().scrollTop = Math.max(0, (problem.line - 4) * height);
}

function paint() {
  const value = area().value;
  const current = checked === value ? problems : problems.filter((p) => p.line);
  const byLine = new Map();
  for (const p of current) {
    // Of a line's errors the one that says what was meant.
    if (p.line && (!byLine.has(p.line) || (p.suggestion && !byLine.get(p.line).suggestion))) byLine.set(p.line, p);
  }
  const lines = value.split('\n');
  $('backdrop').replaceChildren(...lines.map((line, i) => {
    const p = byLine.get(i + 1);
    const row = h('div', { class: p ? 'line wrong' : 'line' }, ...colour(line, p ? p.column : 0));
    if (p) row.append(h('span', { class: 'lens' }, `✕ ${short(p)}`));
    return row;
  }));
  $('gutter').replaceChildren(...lines.map((_, i) => h('div', { class: byLine.has(i + 1) ? 'wrong' : null }, String(i + 1))));
  scroll();
  list(current);
  const dirty = value !== live.text;
  $('apply').disabled = !dirty || busy || current.length > 0;
  $('revert').disabled = !dirty || busy;
  $('original').hidden = live.origin === live.text && !dirty;
  area().setAttribute('aria-invalid', String(current.length > 0));
  const state = $('config-state');
  state.className = `state ${failure || current.length ? 'bad' : dirty ? 'open' : 'good'}`;
  if (failure) text(state, failure);
  else if (busy) text(state, 'Applying…');
  else if (current.length) text(state, current.length === 1 ? '1 error: nothing is applied' : `${current.length} errors: nothing is applied`);
  else if (dirty) text(state, 'Changed, not applied');
  else text(state, `In force${live.at ? ` since ${new Date(live.at).toLocaleTimeString()}` : ''}`);
}

/** short is an error beside its line, which says the rest. */
function short(p) {
  const field = p.path ? `${p.path.split('.').at(-1)}: ` : '';
  return `${field}${p.message}${p.suggestion ? `; ${p.suggestion}?` : ''}`;
}

function list(current) {
  const shown = current.slice(0, 12);
  const key = JSON.stringify(shown);
  if ($('problems').dataset.key === key) return;
  $('problems').dataset.key = key;
  $('problems').replaceChildren(...shown.map((p) => {
    const words = `${p.path ? `${p.path}: ` : ''}${p.message}${p.suggestion ? `. Did you mean ${p.suggestion}?` : ''}`;
    return h('li', {}, p.line
      ? h('button', { type: 'button', class: 'plain', onclick: () => goTo(p) }, h('span', { class: 'place' }, `${p.line}:${p.column}`), ` ${words}`)
      : words);
  }));
  text($('problems-title'), current.length ? `${current.length} errors, the first: ${current[0].message}` : '');
}

function scroll() {
  $('backdrop').style.transform = `translate(${-area().scrollLeft}px, ${-area().scrollTop}px)`;
  $('gutter').style.transform = `translateY(${-area().scrollTop}px)`;
}
