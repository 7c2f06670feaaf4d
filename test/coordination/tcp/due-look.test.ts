import { expect, onTestFinished, test } from 'vitest';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import { openServer } from '../../../lib/assembly/server.js';
import { QueueEvents } from '../../../lib/events.js';
import type { WaitingRoute } from '../../../lib/storage/waiting-route.js';
import { holdTimers } from '../../support/held-timers.js';
import { deferred, until } from '../../support/waiting.js';
import { NsjSocket } from './nsj-socket.js';

test('the server looks for due tasks each time that CHECK_TASKS_INTERVAL has passed', async () => {
  const everyMs = 600_004;
  const looks = holdTimers((ms) => ms === everyMs);
  const { server } = resolveOptions(
    { connection: 'postgres://db/shop', queue: 'tasks', server: { notifyPort: 0, lockPort: 0 } },
    { CHECK_TASKS_INTERVAL: String(everyMs / 1_000) },
  );
  if (!server) throw new Error('it is no server');
  const events = new QueueEvents();
  const port = deferred<number>();
  events.on('notice', ({ message }) => port.resolve(Number(/port (\d+) for workers/.exec(message)?.[1])));
  let due: readonly WaitingRoute[] = [];
  const reports = { workers: async () => [], waitingRoutes: async () => due };
  onTestFinished(await openServer(server, { reports, worker: false, queue: 'public.tasks', events }));

  const worker = await NsjSocket.open(await port.promise);
  expect(await worker.call('nothing')).toBe('False');
  await until(async () => looks.waiting === 1, 'the next look is planned');
  due = [{ route: 't:a', waitingMs: 1, served: false, workerless: true }];
  looks.ringFirst();
  await worker.accept();
  await until(async () => looks.asked.length === 2, 'the look after it is planned');
});
