// The picture at the top: a stream, a gate, and what becomes of the stream.
import { $, s, text, rate, micros } from './dom.js';

const HEIGHT = 150;
const FULL = 46; // width of the whole stream
const parts = {};

export function start() {
  const svg = $('flow-svg');
  for (const name of ['stopped', 'passed', 'arrived']) {
    parts[name] = s('path', { class: `stream ${name}` });
    svg.append(parts[name]);
  }
  for (const name of ['passed', 'arrived']) {
    parts[`${name}-ripple`] = s('path', { class: 'ripple' });
    svg.append(parts[`${name}-ripple`]);
  }
  parts.gate = s('path', { class: 'gate-post' });
  svg.append(parts.gate);
  new ResizeObserver(() => draw()).observe(svg);
}

let now = { arrived: 0, passed: 0 };

export function update(sample) {
  now = sample;
  const stopped = Math.max(0, sample.arrived - sample.passed);
  text($('flow-arrived'), rate(sample.arrived));
  text($('flow-passed'), rate(sample.passed));
  text($('flow-stopped'), rate(stopped));
  let words = 'asks Redis once a request';
  if (sample.redis !== 'running') words = 'Redis is away: counts by itself';
  else if (sample.p50_us) words = `Redis answers in ${micros(sample.p50_us)}`;
  else if (sample.modes.memory) words = 'answers from memory';
  text($('flow-redis'), words);
  draw();
}

function draw() {
  const svg = $('flow-svg');
  const width = svg.clientWidth;
  if (!width) return;
  svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
  const gate = width * 0.46;
  const middle = 58;
  const moving = now.arrived > 0;
  const share = moving ? Math.min(1, now.passed / now.arrived) : 1;
  const whole = moving ? FULL : 3;
  const passed = Math.max(share * whole, share > 0 ? 1.5 : 0);
  const stopped = moving ? (1 - share) * whole : 0;
  const top = middle - whole / 2;
  const passedAt = top + passed / 2;
  const stoppedAt = top + passed + stopped / 2;
  const low = 118;
  const bend = Math.min(width * 0.22, 190);
  line('arrived', `M0 ${middle}H${gate}`, whole);
  line('passed', `M${gate} ${passedAt}H${width}`, passed);
  line('stopped', `M${gate} ${stoppedAt}C${gate + bend * 0.55} ${stoppedAt} ${gate + bend * 0.45} ${low} ${gate + bend} ${low}H${width}`, stopped);
  parts['arrived-ripple'].setAttribute('d', moving ? `M0 ${middle}H${gate}` : '');
  parts['passed-ripple'].setAttribute('d', moving && passed > 4 ? `M${gate} ${passedAt}H${width}` : '');
  parts.gate.setAttribute('d', `M${gate} ${middle - 40}V${middle + 40}`);
}

function line(name, d, width) {
  parts[name].setAttribute('d', d);
  parts[name].style.strokeWidth = `${width}px`;
}
