// Test traffic: what to send, and what came back.
import { $, h, post, text, complain, later, count, span } from './dom.js';
import { explain } from './explain.js';

const EXAMPLES = [
  ['One visitor', { rate: 2, callers: 1, method: 'GET', path: '/hello', headers: '' }],
  ['Busy API', { rate: 40, callers: 12, method: 'GET', path: '/api/orders/{caller}', headers: 'x-api-key: key-{caller}' }],
  ['Flood', { rate: 400, callers: 3, method: 'GET', path: '/', headers: '' }],
];
const STRIP = 80;
let running = false;
let rejected = null;
let unsent = false; // the form has what the server doesn't know yet

/** The slider goes from 0 to 2000 with fine steps where they matter. */
const toRate = (position) => Math.round(2000 * (position / 100) ** 3) || (position > 0 ? 1 : 0);
const toPosition = (n) => Math.ceil(100 * Math.cbrt(n / 2000));
let exact = 10; // what the slider stands for: examples have numbers that it can't show

export function start() {
  $('presets').replaceChildren(...EXAMPLES.map(([name, t]) =>
    h('button', { type: 'button', onclick: () => { fill(t); begin(); } }, name)));
  $('rate').addEventListener('input', () => { exact = toRate(Number($('rate').value)); outputs(); });
  $('callers').addEventListener('input', outputs);
  const change = later(200, () => { if (running) send(values()); });
  $('traffic-form').addEventListener('input', () => { unsent = running; change(); });
  $('traffic-form').addEventListener('submit', (e) => {
    e.preventDefault();
    if (running) send({ ...values(), rate: 0 });
    else begin();
  });
  $('explain-rejection').addEventListener('click', () => explain(rejected.request));
  fill({ ...EXAMPLES[0][1], rate: 10 });
}

function begin() {
  if (exact === 0) { exact = 1; $('rate').value = toPosition(1); outputs(); }
  return send(values());
}

function values() {
  return { rate: exact, callers: Number($('callers').value), method: $('method').value, path: $('path').value.trim(), headers: $('headers').value };
}

function fill(t) {
  exact = t.rate;
  $('rate').value = toPosition(t.rate);
  $('callers').value = t.callers;
  $('method').value = t.method;
  $('path').value = t.path;
  $('headers').value = t.headers;
  outputs();
}

function outputs() {
  text($('rate-out'), count(exact));
  text($('callers-out'), $('callers').value);
  $('rate').setAttribute('aria-valuetext', `${count(exact)} a second`);
}

async function send(t) {
  try {
    const state = await post('/api/traffic', t);
    unsent = false;
    show(state);
    complain($('traffic-error'), '');
  } catch (e) {
    complain($('traffic-error'), e.message);
  }
}

export function hello(hello) {
  const t = hello.samples.at(-1)?.traffic;
  if (t && t.running) fill(t);
  text($('addresses'), hello.callers ? 'Each has an address of its own, 127.0.1.1 and up.' : 'All come from one address on this system.');
}

export function show(t) {
  // Another page may have started it.
  const others = t.running && !unsent && !$('traffic-form').contains(document.activeElement);
  if (others && Object.entries(values()).some(([name, value]) => t[name] !== value)) fill(t);
  running = t.running;
  text($('start'), running ? 'Stop' : 'Start');
  $('start').classList.toggle('stop', running);
  text($('traffic-state'), running ? `Stops by itself in ${span(t.ends - Date.now())}, or when this page is closed.` : 'Stops when this page is closed, or after 10 minutes.');
  const n = t.totals;
  if (!n.sent && !n.dropped) return;
  const words = [`${count(n.sent)} sent`, `${count(n.ok)} answered`, `${count(n.rejected)} rejected`];
  if (n.other) words.push(`${count(n.other)} other answers`);
  if (n.failed) words.push(`${count(n.failed)} without an answer`);
  if (n.dropped) words.push(`${count(n.dropped)} held back, as too many waited`);
  text($('totals'), words.join(' · '));
}

export function answers(message) {
  const strip = $('strip');
  for (const a of message.answers) {
    const kind = a.status === 429 ? 'rejected' : a.failed ? 'failed' : a.status < 400 ? 'ok' : 'other';
    const words = a.failed || `${a.status}, caller ${a.caller}${a.limit ? `, ${a.limit}` : ''}`;
    strip.append(h('i', { class: kind, title: words }));
  }
  while (strip.children.length > STRIP) strip.firstChild.remove();
  const marks = [...strip.children];
  const n = (kind) => marks.filter((m) => m.className === kind).length;
  strip.setAttribute('aria-label', `The last ${marks.length} answers: ${n('ok')} answered, ${n('rejected')} rejected, ${n('other') + n('failed')} other`);
  if (message.rejected) {
    rejected = message.rejected;
    $('rejection').hidden = false;
    $('rejection-text').replaceChildren(...pretty(rejected));
  }
}

/** pretty is an answer as it came, what a limiter says in bold. */
export function pretty(answer) {
  if (answer.failed && !answer.status) return [`No answer: ${answer.failed}\n`];
  const out = [h('b', { class: answer.status === 429 ? 'status-rejected' : 'status-other' }, answer.line), '\n'];
  for (const [name, value] of answer.headers || []) {
    const ours = /^(retry-after|ratelimit|x-ratelimit|x-sluice|x-envoy-ratelimited)/.test(name);
    out.push(ours ? h('b', {}, `${name}: ${value}`) : h('span', { class: 'faint' }, `${name}: ${value}`), '\n');
  }
  out.push('\n', answer.body);
  return out;
}
