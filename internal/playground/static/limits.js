// Each limit: what it is, what it did in the last minute, and its fullest counters.
import { $, h, text, rate, span, count } from './dom.js';
import { Chart } from './chart.js';

const KEEP = 60;
const rows = new Map(); // by the limit's name
const state = new Map(); // whether a limit rejects, for the announcements

/** legends makes the rows for another configuration. */
export function legends(limits) {
  const list = $('limit-list');
  rows.clear();
  list.replaceChildren(...limits.map((l) => {
    const row = makeRow(l);
    rows.set(l.name, row);
    return row.element;
  }));
  $('limit-table').replaceChildren(...limits.map((l) => rows.get(l.name).line));
  $('no-limits').hidden = limits.length > 0;
}

function makeRow(l) {
  const chart = new Chart(l.name);
  const numbers = ['admitted', 'rejected', 'shadow'].map((kind) => [kind, h('b', {}, '0')]);
  const figures = h('p', { class: 'figures' },
    ...numbers.map(([kind, b]) => h('span', { class: kind, hidden: kind === 'shadow' }, b, ` ${kind}/s`)));
  const what = [l.match || 'every request', l.key ? `each ${l.key}` : 'one counter for all', l.algorithm, ...l.marks];
  const counters = h('ul', { class: 'counters', 'aria-label': `Fullest counters of ${l.name}` });
  const cells = [0, 1, 2, 3, 4].map(() => h('td', {}, '0'));
  return {
    chart, counters, cells,
    numbers: Object.fromEntries(numbers),
    past: [],
    line: h('tr', {}, h('th', { scope: 'row' }, l.name), ...cells),
    element: h('li', { class: 'limit', 'data-limit': l.name },
      h('div', { class: 'limit-head' }, h('h3', {}, l.name), h('span', { class: 'limit-rate' }, l.rate), figures),
      h('p', { class: 'what' }, what.join(' · ')),
      chart.element, counters),
  };
}

/** add takes a sample in. */
export function add(sample, drawNow = true) {
  for (const l of sample.limits || []) {
    const row = rows.get(l.name);
    if (!row) continue;
    row.past.push({ admitted: l.admitted + l.failed_open, rejected: l.rejected + l.failed_closed, shadow: l.shadow + l.tagged });
    if (row.past.length > KEEP) row.past.shift();
  }
  if (!drawNow) return;
  for (const [name, row] of rows) draw(name, row, (sample.counters || []).filter((c) => c.limit === name), sample.redis);
}

function draw(name, row, rates, redis) {
  row.chart.draw(row.past);
  const last = row.past.at(-1) || { admitted: 0, rejected: 0, shadow: 0 };
  for (const kind of ['admitted', 'rejected', 'shadow']) {
    text(row.numbers[kind], rate(last[kind]));
    row.numbers[kind].parentElement.classList.toggle('none', !last[kind]);
  }
  const sum = (kind) => row.past.reduce((n, r) => n + r[kind], 0);
  row.numbers.shadow.parentElement.hidden = !sum('shadow');
  [rate(last.admitted), rate(last.rejected), rate(last.shadow), count(Math.round(sum('admitted'))), count(Math.round(sum('rejected')))]
    .forEach((value, i) => text(row.cells[i], value));
  row.element.classList.toggle('rejecting', last.rejected > 0);
  fill(row.counters, rates, redis);
  notice(name, last.rejected > 0, rates);
}

function fill(list, rates, redis) {
  const items = [];
  for (const r of rates) {
    for (const c of r.top.slice(0, 3)) items.push([r, c]);
    if (r.keys > 3) items.push([r, null]);
  }
  if (redis !== 'running') {
    list.replaceChildren(h('li', { class: 'hint' }, 'Redis is away, so its counters can’t be read.'));
    return;
  }
  while (list.children.length > items.length) list.lastChild.remove();
  items.forEach(([r, c], i) => {
    let item = list.children[i];
    if (!item || item.classList.contains('hint')) {
      const fresh = meter();
      if (item) item.replaceWith(fresh); else list.append(fresh);
      item = fresh;
    }
    if (c) measure(item, r, c, rates.length > 1);
    else item.replaceWith(h('li', { class: 'hint' }, `and ${r.more ? 'at least ' : ''}${count(r.keys - 3)} more`));
  });
}

function meter() {
  return h('li', {}, h('span', { class: 'who' }),
    h('span', { class: 'meter', role: 'meter', 'aria-valuemin': '0' }, h('i')), h('span', { class: 'amount' }));
}

function measure(item, r, c, several) {
  const [who, bar, amount] = item.children;
  const name = c.key === '' ? 'all' : c.key;
  text(who, several ? `${name}, ${r.text}` : name);
  const share = r.quota ? Math.min(1, c.current / r.quota) : 1;
  const full = c.remaining <= 0;
  bar.setAttribute('aria-label', `${r.name}, ${name}`);
  bar.setAttribute('aria-valuemax', String(r.quota));
  bar.setAttribute('aria-valuenow', String(Math.min(c.current, r.quota)));
  bar.firstElementChild.style.width = `${share * 100}%`;
  item.classList.toggle('full', full);
  text(amount, full ? `full: ${count(c.current)} of ${count(r.quota)}, room in ${span(c.reset_ms)}` : `${count(c.current)} of ${count(r.quota)}`);
}

/** notice tells those who can't see the page when a limit begins or ends to reject. */
function notice(name, rejects, rates) {
  const was = state.get(name) || { rejects: false, quiet: 0 };
  was.quiet = rejects ? 0 : was.quiet + 1;
  if (rejects && !was.rejects) {
    const full = rates.flatMap((r) => r.top).find((c) => c.remaining <= 0);
    announce(`${name} rejects requests${full && full.key ? ` of ${full.key}` : ''}.`);
    was.rejects = true;
  } else if (was.rejects && was.quiet >= 5) {
    announce(`${name} admits everything again.`);
    was.rejects = false;
  }
  state.set(name, was);
}

export function announce(words) { text($('announcements'), words); }
