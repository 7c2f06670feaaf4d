import { expect, test } from 'vitest';
import type { QueueModuleOptions } from '../../../lib/index.js';
import { createDatabase } from '../../support/database.js';
import { makeTemporaryFolder } from '../../support/folders.js';
import { forkChild, type Child } from '../../support/processes.js';
import { createQueue, withoutRoutines } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { readHistory, type History } from './history.js';
import type { Violation } from './oracles/oracle.js';
import { effectsMatch, effectsOnce } from './oracles/effects.js';
import { createJudgesTables, readRows } from './schema.js';

const options: QueueModuleOptions = {
  ...withoutRoutines,
  pollIntervalMs: 0,
  recovery: { intervalMs: 100, confirmMs: 200, graceMs: 0 },
};

interface Outcome {
  readonly effects: number;
  readonly violations: readonly Violation[];
}

/**
 * A worker is frozen in the middle of a task, its session and control connections are cut, and another worker
 * recovers the task and does it. Then the first one wakes up, still with its open transaction, and wants to end.
 */
async function wakeZombie(env: Readonly<Record<string, string>>): Promise<Outcome> {
  const database = await createDatabase();
  const { pool } = database;
  const folder = await makeTemporaryFolder();
  const start = async (more: Readonly<Record<string, string>>): Promise<Child> => {
    const worker = forkChild('chaos-worker', {
      env: {
        DATABASE_URL: database.url,
        QUEUE_OPTIONS: JSON.stringify(options),
        CHAOS_HISTORY: folder,
        ...more,
      },
    });
    await worker.message('ready');
    return worker;
  };
  const seen = (is: (history: History) => boolean, what: string): Promise<boolean> =>
    until(async () => is(readHistory(folder)), what);
  try {
    await createQueue(database);
    await createJudgesTables(pool);
    const zombie = await start(env);
    await pool.query(
      `insert into tasks (processo, payload, origem) values ('transaction', '{"ms":2000}', 'task-1')`,
    );
    await seen(({ transactions }) => transactions.length === 1, 'the first attempt has written its effect');

    zombie.process.kill('SIGSTOP');
    const { rowCount } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'tarefa%'
         and (application_name like '%session' or application_name like '%control')`,
    );
    expect(rowCount).toBe(2);
    const other = await start({});
    await until(async () => {
      const { rowCount: done } = await pool.query(
        `select from tasks where status = 'sucesso' and tentativa = 2`,
      );
      return done === 1;
    }, 'the other worker has done the task');

    zombie.process.kill('SIGCONT');
    await seen(
      ({ runs }) => runs.some(({ pid, endedAt }) => pid === zombie.pid && endedAt !== undefined),
      'the handler of the zombie has ended',
    );
    // It settles what it can before it leaves.
    zombie.send({ type: 'close' });
    other.send({ type: 'close' });
    expect([(await zombie.exit).code, (await other.exit).code]).toEqual([0, 0]);
    await readRows(pool);
    const evidence = { db: pool, history: readHistory(folder) };
    const violations = [...(await effectsOnce(evidence)), ...(await effectsMatch(evidence))];
    const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from effect');
    return { effects: rows[0]?.n ?? 0, violations };
  } finally {
    await database.drop();
  }
}

test('a zombie that ends its task late leaves no second effect', async () => {
  expect(await wakeZombie({})).toEqual({ effects: 1, violations: [] });
}, 60_000);

test('without the fence it does, and I2 finds it', async () => {
  const { effects, violations } = await wakeZombie({ CHAOS_UNFENCED: 'yes' });
  expect(effects).toBe(2);
  expect(violations.map(({ invariant, what }) => `${invariant}: ${what}`)).toContain(
    'I2: a task has its effect more than once',
  );
}, 60_000);
