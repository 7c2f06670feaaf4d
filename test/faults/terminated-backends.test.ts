import { Inject } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { QueueClient, TaskHandler, type TaskContext } from '../../lib/index.js';
import { connectionNames } from '../support/connections.js';
import { leaveEffect } from '../support/leave-effect.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { connectionLines } from './kit/connection-lines.js';
import { cutConnections } from './kit/cut.js';
import { useFaults } from './kit/fault-bench.js';
import { allOnce, drained } from './kit/outcome.js';

const bench = useFaults();
let holding = deferred();
let end = deferred();
/** What a handler does with its transaction after it was held. */
let last: 'statement' | 'return' = 'return';

class Handlers {
  constructor(@Inject(QueueClient) private readonly queue: QueueClient) {}

  @TaskHandler('effect', { retryDelayMs: 20 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('batch', { retryDelayMs: 20 })
  batch(): void {}

  @TaskHandler('effect, held', { retryDelayMs: 20 })
  async held(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    if (ctx.task.attempt > 1) return;
    holding.resolve();
    await end.promise;
    if (last === 'statement') await ctx.db.query('select 1');
  }

  /** Holds the only connection of the pool, and inserts through the spare one. */
  @TaskHandler('effect, parent')
  async parent(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    await this.queue.insertTask({ topic: 'batch' });
    holding.resolve();
    await end.promise;
    await this.queue.insertTask({ topic: 'batch' });
  }
}

/** Without a proxy: the server ends its side of a connection itself. */
function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  holding = deferred();
  end = deferred();
  return bench.start({ handlers: [Handlers], connection: bench.database.url, ...options });
}

const linesOf = (connection: string) => connectionLines(bench.log.of(), connection);

test.each(['session', 'control'])(
  'the %s connection, idle, is cut: the log says so once, and once that it is back',
  async (kind) => {
    const { queue, events } = await start();
    await queue.insertTask({ topic: 'batch' });
    await drained(bench.pool);
    for (let round = 1; round <= 3; round += 1) {
      const lost = nextEvent(events, 'connection.lost', ({ connection }) => connection === kind);
      expect(await cutConnections(bench.pool, kind)).toBe(1);
      await lost;
      await queue.insertTask({ topic: 'effect' });
      await until(async () => linesOf(kind).length >= 2 * round, 'the connection is back');
    }
    expect(await drained(bench.pool)).toEqual(allOnce(3, 1));
    expect(linesOf(kind)).toEqual(['lost', 'back', 'lost', 'back', 'lost', 'back']);
    expect(bench.log.of('error').filter((line) => !line.startsWith(`the ${kind}`))).toEqual([]);
  },
);

test('idle connections of the pool are cut: nothing but new ones are needed, and the log has a line for all', async () => {
  const { queue } = await start({ connection: bench.proxy.url });
  for (let round = 1; round <= 3; round += 1) {
    await queue.insertTasks(Array.from({ length: 10 }, () => ({ topic: 'effect' })));
    expect(await drained(bench.pool)).toEqual(allOnce(10 * round));
    await workersAreQuiet(bench);
    expect(await cutConnections(bench.pool, 'pool')).toBeGreaterThan(1);
    // Who asks for a connection before its end has arrived gets one that is broken.
    await until(async () => bench.proxy.count('pool') === 0, 'the loss is noticed');
    expect(bench.log.of().filter((line) => line.startsWith('idle connections were lost'))).toHaveLength(
      round,
    );
  }
  await queue.insertTask({ topic: 'effect' });
  expect(await drained(bench.pool)).toEqual(allOnce(31));
});

test.each(['statement', 'return'] as const)(
  'the transaction of a handler is cut before its last %s: that attempt fails, and the next one has the effect',
  async (what) => {
    last = what;
    const { queue, events } = await start();
    const failed = nextEvent(events, 'task.failed');
    const id = await queue.insertTask({ topic: 'effect, held' });
    await holding.promise;
    expect(await cutConnections(bench.pool, 'pool')).toBeGreaterThan(0);
    await until(
      async () => !(await connectionNames(bench)).includes('tarefa tasks pool'),
      'the connection is gone',
    );
    end.resolve();
    expect((await failed).task).toMatchObject({ id, attempt: 1 });
    expect(await drained(bench.pool)).toEqual(allOnce(1));
    const effects = await bench.pool.query('select attempt from effect');
    expect(effects.rows).toEqual([{ attempt: 2 }]);
  },
);

test('the spare connection is cut while handlers hold the pool: their next insert opens another one', async () => {
  const { queue } = await start({ connection: bench.proxy.url, poolSize: 1, concurrency: 2 });
  await queue.insertTask({ topic: 'effect, parent' });
  await holding.promise;
  expect(await cutConnections(bench.pool, 'spare')).toBe(1);
  // Until its end has arrived, the next insert would take it.
  await until(async () => bench.proxy.count('spare') === 0, 'the loss is noticed');
  end.resolve();
  expect(await drained(bench.pool)).toEqual(allOnce(1, 2));
});

test('all connections at once, again and again while tasks flow: each has one effect, and nothing is left open', async () => {
  const { queue } = await start({
    retryIntervalMinutes: 0,
    recovery: { intervalMs: 50, confirmMs: 50, graceMs: 0 },
  });
  await queue.insertTasks(
    Array.from({ length: 1_500 }, (_, n) => ({ topic: n % 3 === 0 ? 'batch' : 'effect' })),
  );
  let cut = 0;
  for (let round = 0; round < 12; round += 1) {
    cut += await cutConnections(bench.pool);
    await pause(100);
  }
  expect(cut).toBeGreaterThan(5);
  expect(await drained(bench.pool)).toEqual(allOnce(1_000, 500));
  for (const kind of ['session', 'control']) {
    await until(async () => linesOf(kind).at(-1) === 'back', `the ${kind} connection is back`);
    const expected = linesOf(kind).map((_, n) => (n % 2 === 0 ? 'lost' : 'back'));
    expect(linesOf(kind)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(1);
  }
  expect(bench.log.of().filter((line) => line.includes('hit a database error'))).toEqual([]);
  const after = await connectionNames(bench);
  const lasting = after.filter((name) => !name.endsWith('pool'));
  expect(lasting).toEqual(['tarefa session', 'tarefa tasks control']);
  expect(after.length - lasting.length).toBeLessThanOrEqual(10);
});
