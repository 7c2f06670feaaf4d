import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { looksChannel } from '../../lib/coordination/postgres/channels.js';
import { SessionLiveness } from '../../lib/coordination/session-liveness.js';
import { TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { listen } from '../support/listening.js';
import type { QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { useRecoveryBench, type ChildWorker } from './recovery-bench.js';

const channel = looksChannel('public.tasks');

const bench = useRecoveryBench();

class Handlers {
  @TaskHandler('hold')
  hold(): void {}
}

function start(options: QueueModuleOptions): Promise<QueueApp> {
  return bench.start({ handlers: [Handlers], pollIntervalMs: 0, ...options });
}

function startChild(options: QueueModuleOptions): Promise<ChildWorker> {
  return bench.startChild({ pollIntervalMs: 0, ...options });
}

test('of several workers one looks, and those that hear of it send nothing', async () => {
  // So long that a busy machine tells the others in time: they wait a tenth of it.
  const intervalMs = 1_000;
  const recovery = { intervalMs, confirmMs: 300, graceMs: 0 };
  for (let n = 0; n < 4; n += 1) await start({ recovery });
  await pause(2 * intervalMs);
  const findMissing = vi.spyOn(SessionLiveness.prototype, 'findMissing');
  await pause(8 * intervalMs);
  const looks = findMissing.mock.calls.length;
  // One may take over too early now and then; if none heard of others, there would be 32.
  expect(looks).toBeGreaterThan(4);
  expect(looks).toBeLessThan(17);
});

test('a worker without others rings for no look: a notification is a transaction', async () => {
  const { heard, close } = await listen(bench.database, channel);
  const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };
  const { worker } = await start({ recovery });
  await pause(1_000);
  expect(await heard()).toEqual([]);
  const other = await start({ recovery: false });
  await pause(1_000);
  expect(new Set(await heard())).toEqual(new Set([worker.id]));
  await other.close();
  await heard();
  await pause(1_000);
  expect(await heard()).toEqual([]);
  await close();
});

test('a looker that stands still, though its locks live on, is replaced by another', async () => {
  const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 0 };
  const holder = await startChild({ recovery: false });
  await bench.database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await holder.message('started');
  const { next, close } = await listen(bench.database, channel);
  const looker = await startChild({ recovery });
  const survivor = await start({ recovery });
  while ((await next()) !== looker.workerId);
  await close();
  process.kill(looker.pid, 'SIGSTOP');
  const recovered = nextEvent(survivor.events, 'task.recovered');
  await holder.kill('SIGKILL');
  expect((await recovered).workerId).toBe(holder.workerId);
});

test('a worker that cannot look lets another one try', async () => {
  const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 0 };
  const one = await start({ recovery });
  const failures: unknown[] = [];
  one.events.on('routine.failed', ({ routine }) => failures.push(routine));
  const findMissing = vi
    .spyOn(SessionLiveness.prototype, 'findMissing')
    .mockRejectedValueOnce(new Error('not now'));
  await pause(2_000);
  expect(failures).toEqual(['recover']);
  // And goes on by itself.
  expect(findMissing.mock.calls.length).toBeGreaterThan(3);
});
