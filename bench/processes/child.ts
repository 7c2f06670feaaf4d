import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs, type Adapter, type OpenAdapter } from '../protocol.js';
import type { CallMessage, ChildCalls, ChildMessage } from './child-calls.js';
import { Production } from './production.js';
import { Tally } from './tally.js';

const tellEveryMs = 10;
const probeEveryMs = 2;

let adapter: Adapter;
let production: Production;
let tally: Tally;

const calls: ChildCalls = {
  open: async (module, surroundings) => {
    const { default: open } = (await import(module)) as { default: OpenAdapter };
    adapter = open(surroundings);
    production = new Production(adapter, surroundings);
  },
  setup: () => adapter.setup(),
  fill: (tasks, topic) => production.fill(tasks, topic),
  enqueueSingly: (connections, seconds, within) => production.enqueueSingly(connections, seconds, within),
  enqueueBatches: (size, tasks) => production.enqueueBatches(size, tasks),
  enqueueEvenly: (perSecond, seconds, topic) => production.enqueueEvenly(perSecond, seconds, topic),
  sustain: async (most) => production.sustain(most),
  consumed: async (count) => production.consumed(count),
  stopSustaining: () => production.stopSustaining(),
  subscribe: async (count) => adapter.subscribe?.(count),
  publish: async (times) => {
    const begun = monotonicMs();
    await adapter.publish?.(times);
    return monotonicMs() - begun;
  },
  purge: async () => (await adapter.purge?.()) ?? 0,
  views: async () => (await adapter.views?.()) ?? {},
  waitUntilDone: async (limitMs) => {
    const until = monotonicMs() + limitMs;
    while (!(await adapter.isDone())) {
      if (monotonicMs() > until) return undefined;
      await pause(probeEveryMs);
    }
    return monotonicMs();
  },
  work: async (kind, target, children) => {
    tally = new Tally(target, (started) => send({ started }));
    let told = 0;
    setInterval(() => {
      if (tally.started === told) return;
      told = tally.started;
      send({ started: told });
    }, tellEveryMs);
    await adapter.work(kind, tally.start, children);
  },
  serve: async () => {
    const server = createServer((_, response) => response.end('here'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  },
  watchLoop: async () => tally.watchLoop(),
  worked: async () => tally.worked(),
};

process.on('message', (message: CallMessage) => void answer(message));
// The benchmark is gone, so this must go as well.
process.on('disconnect', () => process.exit());

async function answer({ id, method, args }: CallMessage): Promise<void> {
  try {
    const call = calls[method] as (...args: readonly unknown[]) => Promise<unknown>;
    // JSON has no undefined.
    send({ id, result: await call(...args.map((arg) => arg ?? undefined)) });
  } catch (error) {
    send({ id, error: describe(error) });
  }
}

/** With its code, by which the runner knows what this version does not offer. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? `${String(error.code)}: ` : '';
  return `${code}${error.message}`;
}

function send(message: ChildMessage): void {
  process.send?.(message);
}
