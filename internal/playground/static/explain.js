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
  const calls = x.calls || [];
  const summary = x.refused_by ? `${x.refused_by} refuses it: a part of its key is absent.`
    : x.blocked_by ? `${x.blocked_by} rejects it: an operator’s override blocks it. Redis isn’t asked.`
      : `${met} of ${x.limits.length} limits apply. ${asked(calls.length, met)}${now(x.live)}`;
  const out = [
    h('p', {}, h('code', {}, `${x.method} ${x.host}${x.path}`), client),
    h('p', { class: 'summary' }, summary),
    h('ul', { class: 'words' }, ...x.limits.map(word)),
  ];
  return out.concat(calls.map((c) => call(c, x.live)));
}

/** asked says how Redis is. */
function asked(calls, met) {
  if (calls === 0) return 'Redis isn’t asked.';
  if (calls > 1) return `Redis is asked in ${calls} calls at once, one for each hash slot.`;
  return met > 1 ? 'All of them are asked in one call.' : 'It is asked in one call.';
}

/** now says what Redis would answer. */
function now(live) {
  if (!live || !live.limit) return '';
  if (live.outcome !== 'rejected') return ` Sent now, it would be ${live.outcome}.`;
  return ` Sent now, it would be rejected by ${live.limit}${live.waiting_helps ? ` for ${live.retry_after_seconds} s` : ', however long it waits'}.`;
}

/** runTime is an operator’s override. */
const runTime = (o) => `Set at run time for ${o.key === null ? 'all callers' : 'this caller'}: ${o.override}, until ${new Date(o.until_ms).toLocaleString()}`;

function word(l) {
  const counters = l.counters || [];
  const applies = l.applies && counters.length > 0;
  return h('li', { class: applies ? 'applies' : 'passes' },
    h('p', {}, h('span', { class: 'mark', 'aria-hidden': 'true' }, applies ? '✓' : '–'), h('b', {}, l.name), ' ',
      applies ? 'applies' : h('span', {}, l.applies ? 'doesn’t count it: ' : unmet(l.why), h('code', {}, l.why || ''))),
    ...counters.map((c) => h('p', { class: 'counter' }, `${c.rate}, ${c.algorithm}${c.cost === 1 ? '' : `, cost ${c.cost}`}${/^shadow/.test(c.op) ? ', only counted' : ''}, counted ${c.gateway ? 'in each gateway' : 'in Redis'} at `, h('code', {}, c.key))),
    ...(l.run_time ? [h('p', { class: 'hint' }, runTime(l.run_time))] : []),
    ...(l.notes || []).map((n) => h('p', { class: 'hint' }, n)));
}

/** unmet introduces why a limit doesn't apply: mostly a condition that fails. */
const unmet = (why) => (/^(except|group|it is)/.test(why || '') ? 'doesn’t apply: ' : 'doesn’t apply, it needs ');

function call(c, live) {
  const state = (key) => {
    const k = live && (live.counters || []).find((x) => x.key === key);
    return k ? `   # ${k.current} used, ${k.remaining} left` : '';
  };
  const where = c.slot === undefined ? 'The call to Redis' : `The call to hash slot ${c.slot}`;
  const args = (list) => list.map((a) => a.value === '' ? '""' : a.value).join(' ');
  const lines = [`EVALSHA ${c.sha} ${c.keys.length}`, ...c.keys.map((k) => `  ${k}${state(k)}`), `  ${args(c.common)}`, ...c.counters.map((row) => `  ${args(row)}`)];
  const legend = c.counters.length ? c.counters[0].map((a) => a.name).join(', ') : '';
  return h('details', {}, h('summary', {}, where),
    h('div', { class: 'answer', tabindex: '0', role: 'region', 'aria-label': where }, h('pre', {}, lines.join('\n'))),
    h('p', { class: 'hint' }, `After the keys: clock (“” is Redis’s own) and request id; then for each key ${legend}.`));
}
