import { expect, test, vi } from 'vitest';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { AttemptStore } from '../../lib/storage/attempts.js';
import type { Claims } from '../../lib/storage/claims.js';
import { coreOf, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

const options = { pollIntervalMs: 300, recovery: false } as const;

class Undertaker {
  @DeadTaskHandler('buried')
  bury(): void {}
}

/** A handler that runs until it is told to end. */
function holding() {
  const released = deferred();
  const aborted: unknown[] = [];
  class Handlers {
    @TaskHandler('hold')
    async hold(_: unknown, { signal }: TaskContext): Promise<void> {
      signal.addEventListener('abort', () => aborted.push(signal.reason));
      await released.promise;
    }
    @TaskHandler('work')
    work(): void {}
  }
  return { handlers: [Handlers], released, aborted };
}

/** What the workers of an application ask for attempts. */
const attemptsOf = ({ app }: QueueApp): AttemptStore => coreOf(app).database.attempts;

/** Its next walk over the index of running attempts takes ten seconds by the clock, as under an old snapshot. */
function makeNextWalkSlow(attempts: AttemptStore) {
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const walk = vi.spyOn(attempts, 'heldBy');
  walk.mockImplementationOnce(async (...args) => {
    const held = await attempts.heldBy(...args);
    walk.mockClear();
    ahead += 10_000;
    return held;
  });
  return { walk, skip: (ms: number) => void (ahead += ms) };
}

test('where walks take long, a worker asks for what it runs by key, and walks for three parts in a hundred of the time', async () => {
  const { handlers, released, aborted } = holding();
  const app = await bench.start({ handlers, ...options });
  const { queue, events } = app;
  const byKey = vi.spyOn(attemptsOf(app), 'standing');
  const { walk, skip } = makeNextWalkSlow(attemptsOf(app));
  const id = await queue.insertTask({ topic: 'hold' });
  await until(async () => byKey.mock.calls.length >= 3, 'three polls');
  expect(byKey.mock.calls.at(-1)).toEqual([expect.any(String), [id]]);
  expect(walk).not.toHaveBeenCalled();
  skip(300_000);
  byKey.mockClear();
  await until(async () => byKey.mock.calls.length >= 2, 'two more');
  expect(walk).not.toHaveBeenCalled();
  skip(50_000);
  await until(async () => walk.mock.calls.length > 0, 'a walk');
  expect(aborted).toEqual([]);
  const completed = nextEvent(events, 'task.completed');
  released.resolve();
  await completed;
  expect(await bench.statusOf(id)).toBe('sucesso');
});

test.each([
  ['was given to another worker', 'executor = executor + 1000'],
  ['was claimed again', 'reserva = reserva + 1'],
  ['ended', `status = 'falha'`],
])('a task that %s meanwhile is told at the poll, however long walks take', async (_, change) => {
  const { handlers, released, aborted } = holding();
  const app = await bench.start({ handlers, ...options });
  const byKey = vi.spyOn(attemptsOf(app), 'standing');
  makeNextWalkSlow(attemptsOf(app));
  const id = await app.queue.insertTask({ topic: 'hold' });
  await until(async () => byKey.mock.calls.length > 0, 'it runs, and walks take long');
  await bench.pool.query(`update tasks set ${change} where id = $1`, [id]);
  await until(async () => aborted.length > 0, 'it is told');
  expect(aborted).toEqual([expect.objectContaining({ code: 'TASK_LOST' })]);
  released.resolve();
});

test.each([
  ['idle', []],
  ['busy', ['hold']],
])('what a worker holds and does not know of is given back at a poll, when it is %s', async (_, topics) => {
  const { handlers, released } = holding();
  const { queue, worker, events } = await bench.start({ handlers, ...options });
  for (const topic of topics) await queue.insertTask({ topic });
  await until(async () => worker.running === topics.length, 'it runs what it has to');
  const completed = nextEvent(events, 'task.completed');
  await bench.pool.query(
    `insert into tasks (processo, status, executor, reserva) values ('work', 'processando', $1, 1)`,
    [worker.id],
  );
  expect((await completed).task).toMatchObject({ topic: 'work', attempt: 1 });
  released.resolve();
});

test('an idle worker does not walk either where that takes long', async () => {
  const app = await bench.start(options);
  const now = performance.now.bind(performance);
  let ahead = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  const asked: unknown[] = [];
  const ask = vi.spyOn(attemptsOf(app), 'nextDue');
  ask.mockImplementationOnce(() => {
    ahead += 10_000;
    ask.mockClear();
    return Promise.resolve({ inMs: undefined, pending: [], holding: false, halted: false });
  });
  await until(async () => ask.mock.calls.length >= 2, 'two more polls');
  asked.push(...ask.mock.calls.map(([, asksHeld]) => asksHeld));
  expect(new Set(asked)).toEqual(new Set([false]));
  const released = nextEvent(app.events, 'task.released');
  await bench.pool.query(
    `insert into tasks (processo, status, executor, reserva) values ('work', 'processando', $1, 1)`,
    [app.worker.id],
  );
  ahead += 350_000;
  await released;
});

test('after a lost connection all that the table says is compared, at once and at the next poll', async () => {
  const app = await bench.start(options);
  const { walk } = makeNextWalkSlow(attemptsOf(app));
  const ask = vi.spyOn(attemptsOf(app), 'nextDue');
  const restored = nextEvent(app.events, 'connection.restored');
  await bench.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tarefa session'`,
  );
  await restored;
  // The first one, which took long, is not counted.
  await until(async () => walk.mock.calls.length > 0, 'the second comparison');
  ask.mockClear();
  await until(async () => ask.mock.calls.length >= 3, 'three more polls');
  expect(walk).toHaveBeenCalledTimes(1);
});

test.each<readonly [string, QueueAppOptions]>([
  ['that serves named topics', {}],
  ['that also delivers webhooks', { webhooks: true }],
  ['that has only the dead handler of a topic', { handlers: [Undertaker] }],
])('an idle worker %s stays idle beside tasks that it does not serve', async (_, more) => {
  const app = await bench.start({
    handlers: holding().handlers,
    ...options,
    pollIntervalMs: 50,
    autoStart: false,
    ...more,
  });
  const { worker } = app;
  const attempts = attemptsOf(app);
  const claimsOf = vi.spyOn(coreOf(app.app).database, 'claimsOf');
  await worker.start();
  // As producers whose notifications are lost.
  const insertQuietly = (columns: string, values: string): Promise<unknown> =>
    bench.pool.query(
      `begin; set local tarefa.quiet = 'on'; insert into tasks (${columns}) ${values}; commit`,
    );
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('elsewhere', 'x')`);
  await insertQuietly('processo', `select 'nobody' from generate_series(1, 500)`);
  await insertQuietly('processo', `select 'buried' from generate_series(1, 500)`);
  await insertQuietly('processo, subscriber_id', `values ('x', 'elsewhere')`);
  const polls = vi.spyOn(attempts, 'nextDue');
  // What somebody rang for at the start is looked at by then.
  await until(async () => polls.mock.calls.length >= 10, 'ten polls');
  const claims = claimsOf.mock.results.map(({ value }) => value as Claims);
  const looks = [vi.spyOn(attempts, 'promote'), ...claims.map((one) => vi.spyOn(one, 'settleAndClaim'))];
  polls.mockClear();
  await until(async () => polls.mock.calls.length >= 10, 'ten more');
  expect(looks.map(({ mock }) => mock.calls.length)).toEqual(more.webhooks ? [0, 0, 0] : [0, 0]);
  // It does see what is its own, and what is nobody's.
  await insertQuietly('processo, pub_sub', `values ('x', true)`);
  await insertQuietly('processo, dead, live_id', `values ('nobody', true, 1)`);
  await until(async () => {
    const { rowCount } = await bench.pool.query(
      `select from tasks where status = 'sucesso' and executor = any($1::bigint[])`,
      [[worker.id, Number(worker.id) + 1]],
    );
    return rowCount === 2;
  }, 'both to end');
});
