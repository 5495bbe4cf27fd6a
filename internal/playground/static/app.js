// The page: it listens to the server and hands on what it hears.
import { $, text, complain } from './dom.js';
import * as flow from './flow.js';
import * as limits from './limits.js';
import * as redis from './redis.js';
import * as traffic from './traffic.js';
import * as explain from './explain.js';
import * as editor from './editor.js';

let version = 0;

for (const part of [flow, redis, traffic, explain, editor]) part.start();

function config(c) {
  if (c.version !== version) {
    version = c.version;
    limits.legends(c.limits);
  }
  editor.config(c);
}

function status(id, words, good) {
  const item = $(id);
  text(item.querySelector('.words'), words);
  item.classList.toggle('good', good);
  item.classList.toggle('bad', !good);
}

function sample(x) {
  flow.update(x);
  limits.add(x);
  redis.update(x);
  traffic.show(x.traffic);
  status('status-envoy', x.envoy ? `Envoy, ${x.workers} ${x.workers === 1 ? 'worker' : 'workers'}` : 'Envoy doesn’t answer', x.envoy);
  const breaker = x.breakers ? ', breaker open' : '';
  status('status-redis', x.redis === 'running' ? `Redis${breaker}` : `Redis is ${x.redis}${breaker}`, x.redis === 'running' && !x.breakers);
}

const events = {
  hello(x) {
    text($('gateway'), x.gateway);
    $('admin').href = `http://${x.admin}/`;
    text($('admin'), x.admin);
    version = 0; // another start of the server may count anew
    config(x.config);
    for (const part of [redis, traffic, explain]) part.hello(x);
    for (const s of x.samples) if (s.version === x.config.version) limits.add(s, false);
    const last = x.samples.at(-1);
    if (last) flow.update(last);
    complain($('offline'), '');
  },
  sample,
  answers: traffic.answers,
  config,
};

const stream = new EventSource('/api/live');
for (const [name, take] of Object.entries(events)) {
  stream.addEventListener(name, (e) => take(JSON.parse(e.data)));
}
stream.addEventListener('error', () => {
  complain($('offline'), 'The connection to sluice dev is lost. Does it still run? This page tries again by itself.');
});
window.addEventListener('sluice-config', (e) => config(e.detail));
