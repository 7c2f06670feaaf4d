import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { serveByCli } from '../cli/serve.js';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { ServerLocks } from './nsj-locks.js';
import { NsjWorker } from './nsj-worker.js';
import { startNotifiedNsj } from './notified-nsj.js';

const { pool, url } = await useDatabase();
const env = {
  DATABASE_URL: url,
  QUEUE_TABLE: 'tasks',
  NOTIFY_SERVICE_PORT: '0',
  LOCK_SERVICE_PORT: '0',
  CHECK_TASKS_INTERVAL: '0.05',
};
const total = { tasks: 140, publications: 30, fatal: 5 };

/** Tasks of all kinds; those that are fatal end the process of the first worker that runs them. */
async function insertAll(): Promise<void> {
  await pool.query(`insert into tasks_subscriber (id, processo) values ('stock', 'sold'), ('mail', 'sold')`);
  await pool.query(
    `insert into tasks (processo, payload, pub_sub)
     select 'quick', '{}', false from generate_series(1, $1::int)
     union all select 'sold', '{}', true from generate_series(1, $2::int)
     union all select 'fatal', '{}', false from generate_series(1, $3::int)`,
    [total.tasks, total.publications, total.fatal],
  );
}

const unfinished = async (): Promise<number> => {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from tasks where status in ('pendente', 'agendada', 'processando')`,
  );
  return rows[0]?.n ?? 0;
};

test('workers of nsj-queue-lib join the server: tasks and publications run once, however their processes die', async () => {
  const server = await serveByCli(env);
  await pool.query('create table effects (what text, kind text)');
  await insertAll();
  for (let n = 0; n < 4; n += 1) await startNotifiedNsj(url, server);
  // It waits for no work, so that the server need not wake it.
  const locks = await ServerLocks.open({ ...server, notifyPort: server.lockPort });
  const jobs = await NsjWorker.start(url, () => Promise.resolve('done'), { locks });
  // What the killed ones ran, which is free as soon as the server has noticed.
  await until(async () => {
    await jobs.retryCrashed();
    await jobs.promote();
    return (await unfinished()) === 0;
  }, 'everything to end');
  const { rows: effects } = await pool.query<{ what: string; n: number }>(
    'select what, count(*)::int as n from effects group by what',
  );
  expect(effects.filter(({ n }) => n !== 1)).toEqual([]);
  expect(effects).toHaveLength(total.tasks + 2 * total.publications + total.fatal);
  const { rows: ends } = await pool.query<{ status: string; n: number }>(
    'select status, count(*)::int as n from tasks group by status order by status',
  );
  expect(ends).toEqual([
    { status: 'falha_processando', n: total.fatal },
    { status: 'sucesso', n: total.tasks + 3 * total.publications + total.fatal },
  ]);
  jobs.kill();
  expect((await server.stop()).code).toBe(0);
});

test('both kinds take turns: while a worker of this library lives those of nsj-queue-lib wait, and go on after it', async () => {
  class Ours {
    @TaskHandler()
    async run(_payload: unknown, { db, task }: TaskContext): Promise<void> {
      await db.query('insert into effects values ($1, $2)', [`task ${task.id}`, 'ours']);
    }
  }
  await pool.query('truncate tasks, tasks_subscriber, effects');
  const app = await startApp({ url }, { handlers: [Ours] });
  const server = await serveByCli(env);
  await startNotifiedNsj(url, server);
  const effectsOf = async (): Promise<unknown> => {
    await pool.query(
      `insert into tasks (processo, payload) select 'quick', '{}' from generate_series(1, 50)`,
    );
    await until(async () => (await unfinished()) === 0, 'everything to end');
    const text = `with gone as (delete from effects returning what, kind)
      select kind, count(*)::int as n, count(distinct what)::int as tasks from gone group by kind`;
    return (await pool.query(text)).rows;
  };
  const routine = await NsjSocket.open(server.lockPort);
  expect(await routine.call('try_lock(1)')).toBe('False');
  expect(await effectsOf()).toEqual([{ kind: 'ours', n: 50, tasks: 50 }]);
  await app.close();
  expect(await effectsOf()).toEqual([{ kind: 'theirs', n: 50, tasks: 50 }]);
  expect((await server.stop()).stdout).toContain('grants no locks to workers of nsj-queue-lib');
});
