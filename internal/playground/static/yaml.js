// Colours for one line of YAML, and a mark where an error is.
import { h } from './dom.js';

/** colour returns the line's parts; column, from 1, marks the word there. */
export function colour(line, column) {
  const parts = split(line);
  if (!column) return parts.map(element);
  const start = Math.min(column - 1, Math.max(0, line.length - 1));
  let end = start;
  while (end < line.length && !/[\s,\]}]/.test(line[end])) end++;
  if (end === start) end = start + 1;
  const out = [];
  let at = 0;
  for (const [kind, words] of parts) {
    const cuts = [0, start - at, end - at, words.length].map((n) => Math.min(Math.max(n, 0), words.length));
    for (let i = 0; i < 3; i++) {
      const piece = words.slice(cuts[i], cuts[i + 1]);
      if (piece) out.push(i === 1 ? h('span', { class: `${kind} squiggle` }, piece) : element([kind, piece]));
    }
    at += words.length;
  }
  return out;
}

const element = ([kind, words]) => h('span', { class: kind }, words);

/** split tells comments, keys and the rest apart. */
function split(line) {
  const out = [];
  let rest = line;
  let comment = '';
  const hash = findComment(line);
  if (hash >= 0) { rest = line.slice(0, hash); comment = line.slice(hash); }
  const key = /([A-Za-z_][\w-]*|"[^"]*")(?=:(\s|$))/g;
  let at = 0;
  for (const m of rest.matchAll(key)) {
    if (m.index > at) out.push(['v', rest.slice(at, m.index)]);
    out.push(['k', m[0]]);
    at = m.index + m[0].length;
  }
  if (at < rest.length) out.push(['v', rest.slice(at)]);
  if (comment) out.push(['c', comment]);
  return out;
}

/** findComment finds a # that isn't inside quotes. */
function findComment(line) {
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quote) { if (c === quote) quote = ''; }
    else if (c === '"' || c === "'") quote = c;
    else if (c === '#' && (i === 0 || /\s/.test(line[i - 1]))) return i;
  }
  return -1;
}
