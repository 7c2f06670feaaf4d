import { expect, onTestFinished, test, vi } from 'vitest';
import { openServer } from '../../../lib/assembly/server.js';
import { QueueEvents } from '../../../lib/events.js';
import type { WorkerStatus } from '../../../lib/storage/status-report.js';
import { deferred, until } from '../../support/waiting.js';
import { NsjSocket } from './nsj-socket.js';
import { idleMs, messageTimeoutMs } from './start-server.js';

const worker: WorkerStatus = {
  id: '7',
  host: 'one',
  pid: 77,
  version: '0.1.0',
  concurrency: 1,
  routes: [],
  startedAt: new Date(0),
  alive: 'lock',
  missedAt: null,
  parent: null,
  output: null,
};

/** Two connections to a server that is told of these workers. */
async function openLockers(
  workers: () => Promise<readonly WorkerStatus[]>,
): Promise<readonly [NsjSocket, NsjSocket]> {
  const events = new QueueEvents();
  const port = deferred<number>();
  events.on('notice', ({ message }) => {
    const [, found] = /port (\d+) for locks/.exec(message) ?? [];
    if (found !== undefined) port.resolve(Number(found));
  });
  const close = await openServer(
    {
      host: '127.0.0.1',
      notifyPort: 0,
      lockPort: 0,
      maxClients: 5,
      messageTimeoutMs,
      idleTimeoutMs: idleMs,
      checkIntervalMs: 600_003,
    },
    {
      reports: { workers, waitingRoutes: async () => [] },
      worker: false,
      queue: 'public.tasks',
      events,
    },
  );
  onTestFinished(close);
  return [await NsjSocket.open(await port.promise), await NsjSocket.open(await port.promise)];
}

test('a worker of this library that locks here as well keeps nobody from it', async () => {
  const [theirs, ours] = await openLockers(async () => [worker]);
  expect(await theirs.call('try_lock(1)')).toBe('False');
  expect(await ours.call('joined(7)')).toBe('True');
  expect(await theirs.call('try_lock(1)')).toBe('True');
  expect(await ours.call('try_lock(1)')).toBe('False');
  // It has locked nothing since it is gone.
  ours.cut();
  await until(async () => (await theirs.call('try_lock(2)')) === 'False', 'the server to notice');
});

test('what a worker runs is locked before others get any lock, when it comes back to a server that was restarted', async () => {
  const [theirs, ours] = await openLockers(async () => [worker]);
  expect(await ours.call('hold()')).toBe('True');
  expect(await ours.call('hold(17)')).toBe('True');
  expect(await theirs.call('try_lock(1)')).toBe('False');
  expect(await ours.call('joined(7)')).toBe('True');
  expect(await theirs.call('try_lock(1)')).toBe('True');
  expect(await theirs.call('try_lock(17)')).toBe('False');
  expect(await ours.call('hold(1)')).toBe('False');
  expect(await ours.call('release_lock(17)')).toBe('True');
  expect(await theirs.call('try_lock(17)')).toBe('True');
});

test('a lock that is still asked about goes to the worker that runs its task', async () => {
  const workers = deferred<readonly WorkerStatus[]>();
  const [theirs, ours] = await openLockers(() => workers.promise);
  const asked = theirs.call('try_lock(17)');
  await until(async () => (await ours.call('hold(17)')) === 'True', 'the worker to hold its task');
  workers.resolve([]);
  expect(await asked).toBe('False');
});

test('a worker of this library whose session is missing for a moment still has its tasks', async () => {
  let laterMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
  onTestFinished(() => void vi.restoreAllMocks());
  let found: readonly WorkerStatus[] = [{ ...worker, alive: false }];
  const [locker] = await openLockers(async () => found);
  // The server that was restarted with it cannot tell whether it was killed.
  expect(await locker.call('try_lock(1)')).toBe('False');
  laterMs += 30_000;
  expect(await locker.call('try_lock(1)')).toBe('True');
  found = [worker];
  expect(await locker.call('try_lock(2)')).toBe('False');
  found = [{ ...worker, alive: false }];
  expect(await locker.call('try_lock(2)')).toBe('False');
  // It has stopped.
  found = [];
  expect(await locker.call('try_lock(2)')).toBe('True');
});
