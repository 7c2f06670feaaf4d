import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { QueueAdmin } from '../../../lib/index.js';
import { sqlUnder } from '../../docs/documents.js';
import { DetachedHandlers } from '../../support/children/detached-module.js';
import { useDetached, type DetachedProcess } from '../../support/detached-run.js';
import type { QueueApp } from '../../support/queue-app.js';
import { onPostgres } from '../../support/run-database.js';
import { createEffectTable } from '../../support/worker-process.js';
import { untilListed } from '../../support/listed-transactions.js';
import { nextEvent, until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';

// Near a minute: each test starts a parent and its detached processes as they are in production, an application each. That they
// outlive it, and never run twice, is what they are for, and no part of it can be seen within one process.

const bench = useQueue();
beforeAll(() => createEffectTable(bench.database));
const detached = useDetached(() => bench.database);

const start = (): Promise<QueueApp> => bench.start({ handlers: [DetachedHandlers], ...detached.options });

async function effects(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ task_root: string }>('select task_root from effect');
  return rows.map(({ task_root }) => task_root);
}

/** How long the lease of a worker still lasts, by the clock of its database. */
async function secondsLeft({ pid }: DetachedProcess): Promise<number> {
  const left = onPostgres
    ? 'extract(epoch from lease_until - clock_timestamp())::float8'
    : 'timestampdiff(microsecond, utc_timestamp(6), lease_until) / 1e6';
  const { rows } = await bench.pool.query<{ seconds: unknown }>(
    `select ${left} as seconds from tasks_worker where pid = $1`,
    [pid],
  );
  return Number(rows[0]?.seconds ?? Number.NaN);
}

/** Makes the lease of a worker that is gone end now. */
async function endLease({ pid }: DetachedProcess): Promise<void> {
  await bench.pool.query(`update tasks_worker set lease_until = started_at where pid = $1`, [pid]);
}

/** Sessions of this database that keep a transaction or a snapshot open. */
async function openTransactions(): Promise<readonly unknown[]> {
  const { rows } = onPostgres
    ? await bench.pool.query(
        `select application_name, state from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and (xact_start is not null or backend_xmin is not null)`,
      )
    : await bench.pool.query(
        `select t.trx_id from information_schema.innodb_trx t
           join information_schema.processlist p on p.id = t.trx_mysql_thread_id
         where p.db = database() and p.id <> connection_id()`,
      );
  return rows;
}

test('a detached attempt survives two redeploys, holds no transaction, and completes in its own process', async () => {
  const first = await start();
  const id = await first.queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  expect(child.pid).not.toBe(process.pid);
  await until(async () => first.worker.running === 0, 'the slot to be free');
  const parent = first.worker.id;
  const listed = (await first.app.get(QueueAdmin).status()).workers.find(({ pid }) => pid === child.pid);
  expect(listed).toMatchObject({ host: hostname(), alive: 'lease', parent });
  expect(await readFile(String(listed?.output), 'utf8')).toContain(`task ${id} is at work`);
  expect(listed?.output).toContain(detached.outputDir);
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)]);
  expect(stdout).toContain(listed?.output);
  await first.close();

  const second = await start();
  // A row whose worker is gone shows that the new worker looks.
  const looked = nextEvent(second.events, 'task.recovered');
  await bench.pool.query(
    `insert into tasks (processo, status, executor) values ('inline', 'processando', 999999)`,
  );
  expect((await looked).workerId).toBe('999999');
  await untilListed(async () => (await openTransactions()).length === 0, 'all transactions to end');
  await second.close();

  const third = await start();
  child.say('report');
  await until(async () => (await bench.row(id)).mensagem === '50 %', 'the progress');
  child.say('succeed');
  expect(await bench.ended(id)).toMatchObject({
    status: 'sucesso',
    tentativa: 1,
    reserva: 1,
    executor: listed?.id,
  });
  expect(await bench.chain(id)).toHaveLength(1);
  expect(await effects()).toContain(id);
  expect(detached.processes).toHaveLength(1);
  await until(async () => !child.isThere, 'the process to end');
  await until(
    async () => (await third.app.get(QueueAdmin).status()).workers.every(({ pid }) => pid !== child.pid),
    'its worker to sign off',
  );
  // The guide tells how its output is found then.
  const [text = ''] = sqlUnder('docs/guides/isolated.md', 'Read its output');
  const { rows } = await bench.pool.query<{ attempt: unknown; host: string; output: string }>(
    text.replaceAll('shop_queue', 'tasks').replace('= 17', `= ${id}`),
  );
  expect(rows.map(({ attempt, host, output }) => [String(attempt), host, output])).toEqual([
    [id, hostname(), listed?.output],
  ]);
});

test('one that fails gets its next attempt by its own worker', async () => {
  const { queue } = await start();
  const id = await queue.insertTask({ topic: 'long' });
  (await detached.started()).say('fail');
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: 'told to fail (will be tried again)',
  });
});

test('one that is killed while its parent lives fails at once, and its next attempt is due', async () => {
  const { queue } = await start();
  const id = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  process.kill(child.pid, 'SIGKILL');
  const again = await detached.started(1);
  expect(again).toMatchObject({ task: id, attempt: 2 });
  expect((await bench.row(id)).mensagem).toContain('(was killed by SIGKILL)');
  again.say('succeed');
  await bench.endedChain(id, 2);
  expect(detached.mostAtOnce).toBe(1);
});

test('one outlives the death of its parent; killed after that, its task is due when its lease ends', async () => {
  const parent = await detached.parent();
  const { queue } = await bench.start({ worker: false });
  const outlives = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  await parent.message('handed over');
  await parent.kill('SIGKILL');
  child.say('succeed');
  expect(await bench.ended(outlives)).toMatchObject({ status: 'sucesso', tentativa: 1 });

  const other = await detached.parent();
  const id = await queue.insertTask({ topic: 'long' });
  const orphan = await detached.started(1);
  await other.message('handed over');
  await other.kill('SIGKILL');
  process.kill(orphan.pid, 'SIGKILL');
  await until(async () => !orphan.isThere, 'the process to end');
  // Nobody renews it any more.
  expect(await secondsLeft(orphan)).toBeLessThanOrEqual(60);
  await start();
  await endLease(orphan);
  const again = await detached.started(2);
  expect(again).toMatchObject({ task: id, attempt: 2 });
  again.say('succeed');
  await bench.endedChain(id, 2);
  expect(detached.mostAtOnce).toBe(1);
});

test('orphans count against the concurrency of their handler', async () => {
  const parent = await detached.parent();
  const { queue } = await bench.start({ worker: false });
  const first = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  await parent.message('handed over');
  await parent.kill('SIGKILL');
  const { events } = await start();
  const second = await queue.insertTask({ topic: 'long' });
  // What was inserted later is done, so the worker has looked.
  const done = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'inline' });
  await done;
  expect(await bench.row(second)).toMatchObject({ status: 'pendente' });
  child.say('succeed');
  await bench.ended(first);
  const next = await detached.started(1);
  expect(next.task).toBe(second);
  next.say('succeed');
  await bench.ended(second);
});

test('one that is cancelled is told to stop', async () => {
  const { queue, app } = await start();
  const id = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  await app.get(QueueAdmin).cancel(id, { by: 'ana' });
  await until(async () => child.words.includes('aborted'), 'the handler to be told');
  child.say('fail');
  expect(await bench.ended(id)).toMatchObject({ cancelada_por: 'ana' });
  expect(await bench.chain(id)).toHaveLength(1);
});

test('a graceful stop ends the process of the parent and leaves the child alone', async () => {
  const parent = await detached.parent();
  const { queue } = await bench.start({ worker: false });
  const id = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  parent.send('close');
  expect(await parent.exit).toEqual({ code: 0, signal: null });
  child.say('succeed');
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
});

test('a start without a place for output is refused', async () => {
  const { isolation, ...others } = detached.options;
  const without = { ...isolation, module: isolation?.module ?? '', outputDir: undefined };
  await expect(
    bench.start({ handlers: [DetachedHandlers], ...others, isolation: without }),
  ).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('set isolation.outputDir') as string,
  });
});
