import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi, type MockInstance } from 'vitest';
import { QueueAdmin, QueueEvents, TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { assembleCore } from '../../lib/assembly/core.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import type { WorkerRegistry } from '../../lib/storage/workers.js';
import { holdTimers } from '../support/held-timers.js';
import { coreOf, type QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { useRecoveryBench, type ChildWorker } from './recovery-bench.js';

const eager = { intervalMs: 50, confirmMs: 50, graceMs: 0 };

const bench = useRecoveryBench();

type WalkSpy = MockInstance<WorkerRegistry['unregisteredHolders']>;

class Handlers {
  @TaskHandler('hold')
  hold(): void {}
}

function start(options: QueueModuleOptions): Promise<QueueApp> {
  return bench.start({ handlers: [Handlers], pollIntervalMs: 0, ...options });
}

/** The same, with a spy on its walks for holders that nobody knows, before its worker starts. */
async function startWatched(prepare = (walk: WalkSpy): unknown => walk) {
  const app = await start({ recovery: eager, autoStart: false });
  const walk = vi.spyOn(coreOf(app.app).database.workers, 'unregisteredHolders');
  prepare(walk);
  await app.worker.start();
  return { ...app, walk };
}

/** Inserts a task that is held by that executor, null for nobody; returns its id. */
async function insertHeld(executor: string | null): Promise<string> {
  const { rows } = await bench.database.pool.query<{ id: string }>(
    `insert into tasks (processo, status, executor, reserva) values ('hold', 'processando', $1, 1) returning id`,
    [executor],
  );
  return rows[0]?.id ?? '';
}

async function insertWorker(columns: string, values: string): Promise<string> {
  const { rows } = await bench.database.pool.query<{ id: string }>(
    `insert into tasks_worker (host, pid, version, concurrency, routes${columns})
     values ('gone', 1, '0', 1, '{}'${values}) returning id`,
  );
  return rows[0]?.id ?? '';
}

/** A worker in another process that has started a task. */
async function startHolder(options: QueueModuleOptions): Promise<ChildWorker> {
  const child = await bench.startChild({ pollIntervalMs: 0, recovery: false, ...options });
  await bench.database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await child.message('started');
  return child;
}

test('what is held by an executor without a row, or by one that has stopped, is recovered at the start', async () => {
  const stopped = await insertWorker(', stopped_at', ", now() - interval '1 day'");
  const held = [await insertHeld('4711'), await insertHeld(stopped)];
  const { events } = await start({ recovery: eager });
  const recovered = new Set<string>();
  events.on('task.recovered', ({ task }) => recovered.add(task.id));
  await until(async () => recovered.size === held.length, 'they are recovered');
  expect(recovered).toEqual(new Set(held));
});

test('later it is found by itself, at every twelfth look', async () => {
  const { events, walk } = await startWatched();
  await until(async () => walk.mock.calls.length > 0, 'the walk at the start');
  const id = await insertHeld('4711');
  expect((await nextEvent(events, 'task.recovered')).task.id).toBe(id);
});

test('an attempt that runs while it names nobody is told of a minute later, though nothing else ends or fails', async () => {
  const held = holdTimers((ms) => ms > 50_000 && ms <= 60_000);
  const id = await insertHeld(null);
  const { app, events } = await start({ recovery: eager });
  const told = nextEvent(events, 'table.inconsistent');
  await until(async () => held.waiting > 0, 'it was found once');
  held.ringFirst();
  expect(await told).toEqual({ kind: 'no-worker', ids: [id], mended: false, refused: undefined });
  expect((await app.get(QueueAdmin).status()).problems).toMatchObject([
    { kind: 'inconsistent', inconsistency: 'no-worker', ids: [id] },
  ]);
});

test('a walk that takes long is made as much rarer', async () => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const { walk } = await startWatched((next) =>
    next.mockImplementationOnce(() => {
      // Ten seconds, of which a hundred are three parts in a hundred of the time.
      ahead += 10_000;
      return Promise.resolve([]);
    }),
  );
  await until(async () => walk.mock.calls.length > 0, 'the walk at the start');
  ahead += 200_000;
  await pause(20 * eager.intervalMs);
  expect(walk).toHaveBeenCalledTimes(1);
  ahead += 200_000;
  await until(async () => walk.mock.calls.length > 1, 'the next one');
});

test('a worker that leaves tasks unfinished counts as lost and not as stopped, so that it is found at once', async () => {
  const holder = await startHolder({ shutdownTimeoutMs: 50 });
  // So that it is not found by the walk over the rows of workers that nobody knows.
  const survivor = await startWatched((walks) => walks.mockResolvedValue([]));
  const recovered = nextEvent(survivor.events, 'task.recovered');
  holder.process.kill('SIGTERM');
  expect((await recovered).workerId).toBe(holder.workerId);
  await until(async () => {
    const { rows } = await bench.database.pool.query<{ stopped: boolean }>(
      'select stopped_at is not null as stopped from tasks_worker where id = $1',
      [holder.workerId],
    );
    return rows[0]?.stopped;
  }, 'it is written down that it has stopped');
});

test('a worker that was called lost and is back counts as running again', async () => {
  const { worker, events } = await start({ recovery: false });
  await bench.database.pool.query('update tasks_worker set stopped_at = now(), missed_at = now()');
  const restored = nextEvent(events, 'connection.restored');
  await bench.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tarefa session'`,
  );
  await restored;
  const runs = until(async () => {
    const { rowCount } = await bench.database.pool.query(
      'select from tasks_worker where id = $1 and stopped_at is null and missed_at is null',
      [worker.id],
    );
    return rowCount;
  }, 'its row says that it runs');
  expect(await runs).toBe(1);
});

test('who still holds something, and who was lost and is back, is not written down as stopped', async () => {
  const options = resolveOptions({ connection: bench.database.url, queue: 'tasks' }, {});
  const core = await assembleCore(options, new QueueEvents());
  const { database } = core;
  const missed = [', missed_at', ', now()'] as const;
  const [gone, back, holding, leaving] = [
    await insertWorker(...missed),
    await insertWorker('', ''),
    await insertWorker(...missed),
    await insertWorker('', ''),
  ];
  await insertHeld(holding);
  for (const id of [gone, back, holding]) await database.workers.retire(id, 'lost');
  for (const id of [leaving, holding]) await database.workers.retire(id, 'stopped');
  await core.close();
  const { rows } = await bench.database.pool.query<{ id: string }>(
    'select id from tasks_worker where stopped_at is not null order by id',
  );
  expect(rows.map(({ id }) => id)).toEqual([gone, leaving]);
});
