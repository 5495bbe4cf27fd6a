// What becomes of a request: the engine's own word on it.
import { $, h, post, complain } from './dom.js';
import { pretty } from './traffic.js';

export function start() {
  $('explain-form').addEventListener('submit', (e) => { e.preventDefault(); run(); });
  $('send-one').addEventListener('click', sendOnce);
  $('ask').addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); }
  });
}

/** explain explains a request from elsewhere on the page. */
export function explain(line) {
  $('ask').value = line;
  $('explain-title').scrollIntoView({ block: 'start' });
  $('ask').focus({ preventScroll: true });
  return run();
}

let shown = false;

/** hello shows an example, before anyone asks. */
export async function hello(hello) {
  $('ask').value = $('ask').value.replace('http://127.0.0.1:10000', hello.gateway);
  if (shown) return;
  shown = true;
  await run();
  // From here on what changes is news.
  $('explanation').setAttribute('aria-live', 'polite');
}

async function run() {
  try {
    const x = await post('/api/explain', { text: $('ask').value });
    complain($('explain-error'), '');
    $('explanation').replaceChildren(...show(x));
  } catch (e) {
    $('explanation').replaceChildren();
    complain($('explain-error'), e.message);
  }
}

async function sendOnce() {
  try {
    const answer = await post('/api/send', { text: $('ask').value });
    complain($('explain-error'), '');
    $('explanation').replaceChildren(h('h3', {}, 'The answer'),
      h('div', { class: 'answer', tabindex: '0', role: 'region', 'aria-label': 'The answer, as it came' }, h('pre', {}, ...pretty(answer))));
  } catch (e) {
    complain($('explain-error'), e.message);
  }
}

function show(x) {
  const met = x.limits.filter((l) => l.applies).length;
  const client = x.client_ip ? `, from ${x.client_ip}` : '';
  const summary = x.refused_by
    ? `${x.refused_by} refuses it: a part of its key is absent.`
    : `${met} of ${x.limits.length} limits apply. ${x.call ? 'All of them are asked in one call.' : 'Redis isn’t asked.'}`;
  const out = [
    h('p', {}, h('code', {}, `${x.method} ${x.host}${x.path}`), client),
    h('p', { class: 'summary' }, summary),
    h('ul', { class: 'words' }, ...x.limits.map(word)),
  ];
  if (x.call) out.push(call(x.call));
  return out;
}

function word(l) {
  const counters = l.counters || [];
  const applies = l.applies && counters.length > 0;
  return h('li', { class: applies ? 'applies' : 'passes' },
    h('p', {}, h('span', { class: 'mark', 'aria-hidden': 'true' }, applies ? '✓' : '–'), h('b', {}, l.name), ' ',
      applies ? 'applies' : h('span', {}, l.applies ? 'doesn’t count it: ' : unmet(l.why), h('code', {}, l.why || ''))),
    ...counters.map((c) => h('p', { class: 'counter' }, `${c.rate}, ${c.algorithm}${c.cost === 1 ? '' : `, cost ${c.cost}`}${/^shadow/.test(c.op) ? ', only counted' : ''}, counted at `, h('code', {}, c.key))),
    ...(l.notes || []).map((n) => h('p', { class: 'hint' }, n)));
}

/** unmet introduces why a limit doesn't apply: mostly a condition that fails. */
const unmet = (why) => (/^(except|group|it is)/.test(why || '') ? 'doesn’t apply: ' : 'doesn’t apply, it needs ');

function call(c) {
  const args = (list) => list.map((a) => a.value === '' ? '""' : a.value).join(' ');
  const lines = [`EVALSHA ${c.sha} ${c.keys.length}`, ...c.keys.map((k) => `  ${k}`), `  ${args(c.common)}`, ...c.counters.map((row) => `  ${args(row)}`)];
  const legend = c.counters.length ? c.counters[0].map((a) => a.name).join(', ') : '';
  return h('details', {}, h('summary', {}, 'The call to Redis'),
    h('div', { class: 'answer', tabindex: '0', role: 'region', 'aria-label': 'The call to Redis' }, h('pre', {}, lines.join('\n'))),
    h('p', { class: 'hint' }, `After the keys: clock (“” is Redis’s own) and request id; then for each key ${legend}.`));
}
