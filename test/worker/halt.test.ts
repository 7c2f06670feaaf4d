import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

class HoldHandlers {
  @TaskHandler('hold')
  async hold(_: unknown, { signal }: TaskContext): Promise<string> {
    started.resolve();
    await end.promise;
    return signal.aborted ? 'aborted' : 'ended in peace';
  }
}

let started = deferred();
let end = deferred();

beforeEach(() => {
  [started, end] = [deferred(), deferred()];
});
afterEach(() => end.resolve());

const start = (options: QueueAppOptions = {}) =>
  bench.start({ handlers: [HoldHandlers], pollIntervalMs: 0, ...options });

test.each([
  ['with halt: true', { halt: true }],
  ["with interop: 'nsj', where it is the default", { interop: 'nsj' }],
] as const)('a ring that says HALT stops the workers after their current work, %s', async (_, options) => {
  const worker = await start(options);
  const stopped = nextEvent(worker.events, 'worker.stopped');
  await worker.queue.insertTask({ topic: 'hold' });
  await started.promise;
  const idle = await start(options);
  const idleStopped = nextEvent(idle.events, 'worker.stopped');

  await bench.pool.query(`notify tasks, 'HALT'`);
  expect(await idleStopped).toMatchObject({ unfinished: 0 });
  // Whoever stops claims nothing more.
  await worker.queue.insertTask({ topic: 'hold', payload: 'too late' });
  end.resolve();
  expect(await stopped).toMatchObject({ unfinished: 0 });
  const { rows } = await bench.pool.query('select status, mensagem from tasks order by id');
  expect(rows).toEqual([
    { status: 'sucesso', mensagem: 'ended in peace' },
    { status: 'pendente', mensagem: null },
  ]);
  await until(async () => {
    const sessions = await bench.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'tarefa session'`,
    );
    return sessions.rowCount === 0;
  }, 'the end of their sessions');
});

test('HALT of somebody who may only connect stops no worker, and is said once', async () => {
  const role = `stranger_${randomBytes(4).toString('hex')}`;
  await bench.pool.query(`create role ${role} login password 'x'`);
  const app = await start({ webhooks: true });
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => warnings.push(message));
  const url = new URL(bench.database.url);
  [url.username, url.password] = [role, 'x'];
  const stranger = new Client({ connectionString: url.href });
  await stranger.connect();
  await expect(stranger.query('update tasks_worker set halt_at = now()')).rejects.toThrow(
    'permission denied for table tasks_worker',
  );
  for (let times = 1; times <= 3; times += 1) {
    await stranger.query(`notify tasks, 'HALT'`);
    await until(async () => warnings.length > 0, 'it is said');
  }
  await stranger.end();
  await app.queue.insertTask({ topic: 'hold' });
  await started.promise;
  end.resolve();
  await nextEvent(app.events, 'task.completed');
  expect(app.worker.state).toBe('running');
  expect(warnings).toEqual([
    expect.stringMatching(
      /^the notification HALT was ignored, as later ones will be: any role that may connect/,
    ),
  ]);
  await bench.pool.query(`drop role ${role}`);
});

test('QueueAdmin.halt() stops the workers that run, by their rows, and none that starts later', async () => {
  const before = [await start(), await start({ webhooks: true })];
  const stopped = before.map(({ events }) => nextEvent(events, 'worker.stopped'));
  const told = await before[0]!.app.get(QueueAdmin).halt();
  // The one with webhooks is two workers.
  expect(told).toHaveLength(3);
  await Promise.all(stopped);
  await until(async () => before.every(({ worker }) => worker.state === 'stopped'), 'they have stopped');
  const later = await start();
  await later.queue.insertTask({ topic: 'hold' });
  await started.promise;
  expect(later.worker.state).toBe('running');
});

test.each([
  ['idle', false],
  ['busy', true],
])('a worker that hears no ring sees at its poll that it is to stop, when it is %s', async (_, isBusy) => {
  const app = await start({ wake: 'poll', pollIntervalMs: 100 });
  if (isBusy) {
    await app.queue.insertTask({ topic: 'hold' });
    await started.promise;
  }
  const stopped = nextEvent(app.events, 'worker.stopped');
  expect(await app.app.get(QueueAdmin).halt()).toEqual([app.worker.id]);
  await until(async () => app.worker.state !== 'running', 'it stops');
  end.resolve();
  expect(await stopped).toMatchObject({ unfinished: 0 });
});

test('a ring of another maker is just a ring', async () => {
  const ran = deferred<unknown>();
  class Handlers {
    @TaskHandler('note')
    note(payload: unknown): void {
      ran.resolve(payload);
    }
  }
  await start({ handlers: [Handlers] });
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on'; insert into tasks (processo, payload) values ('note', 'x'); commit`,
  );
  await bench.pool.query('notify tasks');
  expect(await ran.promise).toBe('x');
});
