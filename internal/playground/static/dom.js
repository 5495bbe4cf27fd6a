// Small helpers around the document and the server.

export const $ = (id) => document.getElementById(id);

/** h makes an element: h('p', {class: 'x', onclick: f}, 'text', child). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

const NS = 'http://www.w3.org/2000/svg';

/** s makes an SVG element. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  set(element, attributes);
  element.append(...children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
}

/** text changes a text only when it is another, so that nothing is read twice. */
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

/** show puts an error where a person sees it, or takes it away. */
export function complain(element, message) {
  element.hidden = !message;
  text(element, message || '');
}

const token = document.querySelector('meta[name="sluice-token"]').content;

/** post asks the server to do something; an error has words for a person. */
export async function post(path, body) {
  let response;
  try {
    response = await fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Sluice-Token': token },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error('sluice dev doesn’t answer: does it still run?');
  }
  if (!(response.headers.get('Content-Type') || '').startsWith('application/json')) {
    throw new Error((await response.text()).trim() || response.statusText);
  }
  const answer = await response.json();
  if (!response.ok || answer.error) throw new Error(answer.error || response.statusText);
  return answer;
}

/** later calls f once, when nothing called it again for ms. */
export function later(ms, f) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(f, ms, ...args);
  };
}

/** rate is a number a second as people write it. */
export function rate(n) {
  if (n === 0) return '0';
  if (n < 0.1) return '<0.1';
  if (n < 10) return String(Math.round(n * 10) / 10);
  return Math.round(n).toLocaleString('en');
}

/** micros is a time in words. */
export function micros(us) {
  if (!us) return '–';
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 100000) return `${(us / 1000).toFixed(1)} ms`;
  return `${Math.round(us / 1000)} ms`;
}

/** span is a duration in words. */
export function span(ms) {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 1) return 'now';
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const count = (n) => n.toLocaleString('en');
