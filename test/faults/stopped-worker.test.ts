import { afterEach, beforeEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { connectionNames } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import type { Child } from '../support/processes.js';
import { leaveEffect } from '../support/leave-effect.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { cutConnections } from './kit/cut.js';
import { startFaultWorker } from './kit/fault-worker.js';
import { allOnce, drained } from './kit/outcome.js';

/** Far shorter than the worker is stopped. */
const recovery = { intervalMs: 50, confirmMs: 50, graceMs: 0 };
const topics = ['effect and hold', 'hold and effect', 'hold'];

const database = await useDatabase();
await createEffectTable(database);
let worker: Child;
let other: QueueApp | undefined;

beforeEach(async () => {
  worker = await startFaultWorker(database, { recovery, pollIntervalMs: 0 });
  await database.pool.query(
    `insert into tasks (processo, payload) select topic, '{}' from unnest($1::text[]) topic`,
    [topics],
  );
  await until(
    async () => worker.messages.filter(({ type }) => type === 'started').length === topics.length,
    'all run',
  );
});

afterEach(async () => {
  await other?.close();
  other = undefined;
  await worker.kill('SIGKILL');
  await database.pool.query('truncate tasks, effect');
});

/** The same topics, without holding. */
class Handlers {
  @TaskHandler('effect and hold')
  async effectAndHold(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('hold and effect')
  async holdAndEffect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('hold')
  hold(): void {}
}

function startOther(): Promise<QueueApp> {
  return startApp(database, { handlers: [Handlers], recovery });
}

const told = (type: string): number => worker.messages.filter((message) => message.type === type).length;

async function attempts(): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ attempt: string }>(
    `select distinct concat_ws(' ', status, tentativa, perdas) as attempt from tasks order by 1`,
  );
  return rows.map(({ attempt }) => attempt);
}

test('a worker that is stopped for long keeps its tasks, as its locks live on, and goes on when it is continued', async () => {
  process.kill(worker.pid, 'SIGSTOP');
  other = await startOther();
  const recovered: unknown[] = [];
  other.events.on('task.recovered', (event) => recovered.push(event));
  for (let look = 0; look < 10; look += 1) expect(await other.retry.run()).toBe(0);
  process.kill(worker.pid, 'SIGCONT');
  worker.send('release');
  expect(await drained(database.pool)).toEqual(allOnce(2, 1));
  expect(await attempts()).toEqual(['sucesso 1 0']);
  expect(recovered).toEqual([]);
  expect(told('lost')).toBe(0);
});

test.each([
  { lost: 'connections are', purpose: '', left: false },
  // Its transactions live on: only the fence keeps them from being committed.
  { lost: 'session is', purpose: 'session', left: true },
])(
  'a stopped worker whose $lost gone loses its tasks to another one, and cannot complete them when it is continued',
  async ({ purpose, left }) => {
    process.kill(worker.pid, 'SIGSTOP');
    expect(await cutConnections(database.pool, purpose)).toBeGreaterThan(0);
    await until(
      async () => !(await connectionNames(database)).some((name) => name.endsWith(purpose)),
      'the connections are closed',
    );
    expect((await connectionNames(database)).length > 0).toBe(left);
    other = await startOther();
    expect(await drained(database.pool)).toEqual(allOnce(2, 1));
    expect(await attempts()).toEqual(['falha 1 0', 'sucesso 2 1']);

    process.kill(worker.pid, 'SIGCONT');
    worker.send('release');
    // Of each it learns that it belongs to another worker by now.
    await until(async () => told('lost') === topics.length, 'all three are refused');
    expect(await drained(database.pool)).toEqual(allOnce(2, 1));
    expect(await attempts()).toEqual(['falha 1 0', 'sucesso 2 1']);

    // It is a worker again, under its old id.
    await other.close();
    other = undefined;
    await database.pool.query(`insert into tasks (processo, payload) values ('effect', '{}')`);
    expect(await drained(database.pool)).toEqual(allOnce(3, 1));
    expect(told('connection restored')).toBeGreaterThan(0);
    worker.send('close');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  },
);
