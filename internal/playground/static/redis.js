// Redis: how fast it answers, where decisions are made without it, and breaking it.
import { $, h, post, text, complain, rate, micros } from './dom.js';
import { announce } from './limits.js';

const MODES = [
  ['redis', 'in Redis'],
  ['memory', 'from memory: rejected before, and still'],
  ['local', 'by this gateway, while Redis is away'],
  ['lease', 'from a batch of tokens'],
  ['degraded', 'from the degraded pool'],
];
const bars = new Map();
let mode = 'redis';
let server = 'running';

export function start() {
  $('modes').replaceChildren(...MODES.map(([name, words]) => {
    const bar = h('i');
    const number = h('b', {}, '0%');
    const item = h('li', { hidden: name !== 'redis' }, h('span', { class: 'mode-words' }, words), h('span', { class: 'track' }, bar), number);
    bars.set(name, { item, bar, number });
    return item;
  }));
  for (const button of $('break-buttons').querySelectorAll('button')) {
    button.addEventListener('click', () => act(button.dataset.do));
  }
}

async function act(what) {
  if (what === 'mend') what = server === 'stopped' ? 'start' : 'resume';
  try {
    const answer = await post('/api/redis', { do: what });
    complain($('redis-error'), '');
    show(answer.state);
  } catch (e) {
    complain($('redis-error'), e.message);
  }
}

function show(state) {
  server = state;
  for (const button of $('break-buttons').querySelectorAll('button')) {
    button.disabled = button.dataset.do === 'mend' ? state === 'running' : state !== 'running';
  }
}

export function hello(hello) {
  $('break').hidden = !hello.breaks;
}

export function update(sample) {
  show(sample.redis);
  text($('redis-p50'), micros(sample.p50_us));
  text($('redis-p99'), micros(sample.p99_us));
  text($('redis-calls'), rate(sample.calls));
  text($('redis-breaker'), sample.breakers ? `open in ${sample.breakers} of ${sample.workers}` : 'closed');
  $('redis-breaker').classList.toggle('bad', sample.breakers > 0);
  const total = Object.values(sample.modes).reduce((a, b) => a + b, 0);
  for (const [name] of MODES) {
    const share = total ? (sample.modes[name] || 0) / total : 0;
    const { item, bar, number } = bars.get(name);
    if (share > 0) item.hidden = false;
    bar.style.width = `${share * 100}%`;
    text(number, `${Math.round(share * 100)}%`);
  }
  text($('redis-words'), words(sample));
  if (total) {
    const most = Object.entries(sample.modes).sort((a, b) => b[1] - a[1])[0][0];
    if ((most === 'local') !== (mode === 'local')) {
      announce(most === 'local' ? 'Redis is away: the gateway counts by itself.' : 'Redis decides again.');
    }
    mode = most;
  }
}

function words(sample) {
  const kinds = Object.entries(sample.errors).map(([kind, n]) => `${kind.replace('_', ' ')} ${rate(n)}/s`);
  if (sample.redis === 'stopped') return `Redis is stopped. ${kinds.join(', ')}`;
  if (sample.redis === 'paused') return `Redis hangs. ${kinds.join(', ')}`;
  if (sample.redis === 'unreachable') return `Redis can’t be reached. ${kinds.join(', ')}`;
  return kinds.length ? `Failures: ${kinds.join(', ')}` : '';
}
