// `npm run demo`: sends the orders of sample-app/orders.ndjson through a running shop and follows them to the end.
//   node scripts/demo.mjs [http://127.0.0.1:3000] [--loop MINUTES]
// The exit code is 0 only when every delivery ended as it should.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), 'sample-app/orders.ndjson');
const active = ['scheduled', 'retrying', 'pending', 'processing'];
const requestsAtOnce = 8;
const requestTimeoutMs = 30_000;
const pauseMs = 250;
// Without any order ending for so long, something is wrong.
const standstillMs = 60_000;

const { address, minutes } = readArguments();
const before = await findShop();
const faults = await play().catch((error) => stop(`The demo was interrupted: ${error.message}`));
process.exitCode = faults === 0 ? 0 : 1;

/** One round, or rounds for as long as was asked. Returns how many orders did not end as they should. */
async function play() {
  const started = performance.now();
  let rounds = 0;
  let faulty = 0;
  do {
    rounds += 1;
    faulty += await playRound();
  } while (performance.now() - started < minutes * 60_000);
  if (minutes > 0) await summarise({ rounds, faulty, took: performance.now() - started });
  return faulty;
}

/** Sends all orders once, follows them and reports. Returns how many did not end as they should. */
async function playRound() {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const begun = performance.now();
  const { ids, rejected, errors } = await request('/orders/import', lines.join('\n'));
  if (rejected > 0) stop(`${rejected} lines were rejected, the first of them: ${errors[0].message}`);
  const orders = lines.map((line, index) => ({ id: ids[index], hasUnicorn: line.includes('"unicorn"') }));
  const reports = await follow(orders, begun);
  return conclude(orders, reports, begun);
}

/** Asks for each order until it has ended; returns the last report on each, by id. */
async function follow(orders, begun) {
  const reports = new Map();
  const progress = makeProgress(orders.length, begun);
  let waiting = orders;
  let lastChange = performance.now();
  while (waiting.length > 0 && performance.now() - lastChange < standstillMs) {
    await eachOf(waiting, async ({ id }) => {
      reports.set(id, await request(`/orders/${id}`));
      progress.show(reports);
    });
    const left = waiting.filter(({ id }) => !hasEnded(reports.get(id)));
    if (left.length < waiting.length) lastChange = performance.now();
    waiting = left;
    if (waiting.length > 0) await sleep(pauseMs);
  }
  progress.end(reports);
  return reports;
}

/** The survey is a task that the receipt leaves behind, so it is awaited as well. */
function hasEnded({ deliveries, effects }) {
  if (deliveries.length === 0 || deliveries.some(({ status }) => active.includes(status))) return false;
  return !effects.receiptSent || effects.surveySent;
}

/** Everything succeeds, except stock with a unicorn in the order: that is dead, and somebody knows of it. */
function endedWell({ deliveries, effects, needsAttention }, hasUnicorn) {
  const failed = deliveries.filter(({ status }) => status !== 'succeeded');
  const died = deliveries.filter(({ dead }) => dead);
  const others = effects.searchable && effects.receiptSent && effects.surveySent;
  if (!hasUnicorn) return others && effects.stockReserved && failed.length === 0 && died.length === 0;
  const onlyStock = [...failed, ...died].every(({ subscription }) => subscription === 'stock');
  return others && !effects.stockReserved && needsAttention !== null && onlyStock && died.length === 1;
}

function conclude(orders, reports, begun) {
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const wrong = orders.filter(
    ({ id, hasUnicorn }) => !hasEnded(reports.get(id)) || !endedWell(reports.get(id), hasUnicorn),
  );
  for (const { id } of wrong.slice(0, 5)) {
    say(`order ${id} did not end as it should: ${JSON.stringify(reports.get(id))}`);
  }
  const { delivered, retried, dead } = count(reports);
  say(
    `${orders.length} orders in ${seconds} s: ${delivered} deliveries succeeded, ${retried} of them after a retry, ` +
      `${dead} given up and marked for attention. ` +
      (wrong.length === 0
        ? 'All ended as they should.'
        : `${wrong.length} orders did NOT end as they should.`),
  );
  return wrong.length;
}

function count(reports) {
  const deliveries = [...reports.values()].flatMap((report) => report.deliveries);
  const delivered = deliveries.filter(({ dead, status }) => !dead && status === 'succeeded');
  return {
    delivered: delivered.length,
    retried: delivered.filter(({ attempts }) => attempts > 1).length,
    dead: deliveries.filter(({ dead, status }) => dead && status === 'succeeded').length,
  };
}

/** One line that changes on a terminal; elsewhere a line a second. */
function makeProgress(total, begun) {
  const everyMs = process.stdout.isTTY ? 100 : 1_000;
  let shownAt = begun;
  const line = (reports) => {
    const ended = [...reports.values()].filter(hasEnded).length;
    const { delivered, retried, dead } = count(reports);
    const bar = '#'.repeat(Math.round((ended / total) * 20)).padEnd(20, '.');
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    return `[${bar}] ${ended}/${total} orders, ${delivered} delivered, ${retried} retried, ${dead} given up, ${seconds} s`;
  };
  return {
    show(reports) {
      if (performance.now() - shownAt < everyMs) return;
      shownAt = performance.now();
      if (process.stdout.isTTY) process.stdout.write(`\r${line(reports)}\x1b[K`);
      else say(line(reports));
    },
    end(reports) {
      if (process.stdout.isTTY) process.stdout.write(`\r${line(reports)}\x1b[K\n`);
    },
  };
}

async function summarise({ rounds, faulty, took }) {
  const after = await request('/health');
  const megabytes = ({ memory }) => `${(memory.rss / 2 ** 20).toFixed(0)} MB`;
  say(
    `${rounds} rounds in ${(took / 60_000).toFixed(1)} minutes, ${faulty} faulty orders; ` +
      `memory of the shop: ${megabytes(before)} before, ${megabytes(after)} after.`,
  );
}

/** Runs `work` on every item, a few at a time. */
async function eachOf(items, work) {
  const rest = items.values();
  const run = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, run));
}

async function findShop() {
  try {
    return await request('/health');
  } catch (error) {
    return stop(
      `No shop answers at ${address} (${error.message}).\n` +
        'Start it with `npm start` in another terminal, and run this again; or name its address:\n' +
        '  npm run demo -- http://127.0.0.1:3000',
    );
  }
}

async function request(path, body) {
  const post = { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body };
  const signal = AbortSignal.timeout(requestTimeoutMs);
  const response = await fetch(address + path, { signal, ...(body && post) }).catch((error) => {
    throw new Error(error.cause?.message || error.cause?.code || error.message, { cause: error });
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

function readArguments() {
  const { PORT, URL: url } = process.env;
  try {
    const { values, positionals } = parseArgs({
      options: { loop: { type: 'string', default: '0' } },
      allowPositionals: true,
    });
    const loop = Number(values.loop);
    if (!(loop >= 0)) throw new Error(`--loop takes a number of minutes, not "${values.loop}"`);
    const given = positionals[0] ?? (url || `http://127.0.0.1:${PORT || 3000}`);
    return { address: new URL(given).origin, minutes: loop };
  } catch (error) {
    return stop(`${error.message}\nUsage: npm run demo -- [http://127.0.0.1:3000] [--loop MINUTES]`);
  }
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function stop(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
