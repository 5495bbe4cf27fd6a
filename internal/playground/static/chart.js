// A minute of bars: what was admitted, and on top of it what was not.
import { s, rate } from './dom.js';

const SECONDS = 60;
const HEIGHT = 64;
const GAP = 1;

export class Chart {
  constructor(name) {
    this.name = name;
    this.admitted = s('path', { class: 'bar-admitted' });
    this.shadow = s('path', { class: 'bar-shadow' });
    this.rejected = s('path', { class: 'bar-rejected' });
    this.base = s('path', { class: 'base-line' });
    this.scale = s('text', { class: 'scale', x: 0, y: 10 });
    this.element = s('svg', { class: 'chart', role: 'img', height: HEIGHT, 'aria-label': `${name}: nothing yet` },
      this.admitted, this.shadow, this.rejected, this.base, this.scale);
  }

  /** draw draws rows of {admitted, rejected, shadow}, the latest last. */
  draw(rows) {
    const width = this.element.clientWidth || 300;
    const top = niceTop(Math.max(1, ...rows.map((r) => r.admitted + r.rejected + r.shadow)));
    const step = width / SECONDS;
    const room = HEIGHT - 14;
    const bars = { admitted: '', shadow: '', rejected: '' };
    rows.slice(-SECONDS).forEach((row, i, all) => {
      const x = width - (all.length - i) * step;
      let y = HEIGHT - 1;
      for (const kind of ['admitted', 'shadow', 'rejected']) {
        if (!row[kind]) continue;
        // What is there is to be seen, however little it is.
        const size = Math.max(1.5, (row[kind] / top) * room);
        bars[kind] += `M${x.toFixed(1)} ${y.toFixed(1)}h${(step - GAP).toFixed(1)}v${(-size).toFixed(1)}h${(GAP - step).toFixed(1)}z`;
        y -= size;
      }
    });
    for (const kind of Object.keys(bars)) this[kind].setAttribute('d', bars[kind]);
    this.base.setAttribute('d', `M0 ${HEIGHT - 0.5}H${width}`);
    this.scale.textContent = `${rate(top)}/s`;
    const sum = (kind) => Math.round(rows.reduce((n, r) => n + r[kind], 0));
    const words = [`${sum('admitted')} admitted`, `${sum('rejected')} rejected`];
    if (sum('shadow')) words.push(`${sum('shadow')} would have been rejected`);
    this.element.setAttribute('aria-label', `${this.name}, the last minute: ${words.join(', ')}`);
  }
}

/** niceTop is a round number at least n. */
function niceTop(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  for (const factor of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (factor * power >= n) return factor * power;
  return n;
}
