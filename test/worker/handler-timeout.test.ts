import { beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { untilListed } from '../support/listed-transactions.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { onPostgres, ownSql, testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
const message = 'Slow.hang did not end within its timeoutMs (200) (no attempts left)';

beforeAll(async () => {
  await bench.pool.query('create table effect (task bigint not null)');
});

/** A handler that leaves its effect and then does what it is told to, against a timeout. */
async function startHanging(
  hang: (ctx: TaskContext) => Promise<unknown>,
  { concurrency = 1, poolSize = 1 }: { concurrency?: number; poolSize?: number } = {},
) {
  const order: string[] = [];
  class Slow {
    @TaskHandler('hang', { timeoutMs: 200, maxAttempts: 1 })
    async hang(payload: unknown, ctx: TaskContext): Promise<unknown> {
      if (payload !== 'no effect') await leaveEffect(ctx);
      return hang(ctx);
    }
    @TaskHandler('next')
    async next(_: unknown, ctx: TaskContext): Promise<void> {
      order.push('next');
      await leaveEffect(ctx);
    }
  }
  const app = await bench.start({ handlers: [Slow], concurrency, poolSize });
  return { ...app, order };
}

async function leaveEffect({ db, task }: TaskContext): Promise<void> {
  await db.query(ownSql('insert into effect values ($1)'), [task.id]);
}

async function hasEffect(id: string): Promise<boolean> {
  const { rows } = await bench.pool.query('select from effect where task = $1', [id]);
  return rows.length > 0;
}

/** Resolves when no connection of the pool is in a transaction. */
async function noTransaction(): Promise<void> {
  await (onPostgres ? until : untilListed)(async () => {
    const { rows } = await bench.pool.query(
      onPostgres
        ? `select from pg_stat_activity
           where datname = current_database() and application_name like '%pool' and xact_start is not null`
        : `select from information_schema.innodb_trx t
             join information_schema.processlist p on p.id = t.trx_mysql_thread_id where p.db = database()`,
    );
    return rows.length === 0;
  }, 'the end of the transaction');
}

test('a handler that hangs fails its attempt and is told; its slot stays taken until it ends', async () => {
  const end = deferred();
  const aborted = deferred<unknown>();
  const { queue, order, worker } = await startHanging(async ({ signal }) => {
    signal.addEventListener('abort', () => aborted.resolve(signal.reason));
    await end.promise;
    order.push('ended');
  });
  const [id = '', next = ''] = await queue.insertTasks([{ topic: 'hang' }, { topic: 'next' }]);
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', mensagem: message });
  expect(await aborted.promise).toMatchObject({ code: 'TASK_TIMEOUT' });
  await noTransaction();
  expect(await hasEffect(id)).toBe(false);
  expect(await bench.row(next)).toMatchObject({ status: 'pendente' });
  expect(worker.running).toBe(1);
  end.resolve();
  expect(await bench.ended(next)).toMatchObject({ status: 'sucesso' });
  expect(order).toEqual(['ended', 'next']);
  // What the handler did after its timeout changed nothing.
  expect(await bench.row(id)).toMatchObject({ status: 'falha', mensagem: message });
});

test('a statement that hangs is ended with its transaction, so that it holds no locks', async () => {
  const { queue } = await startHanging(({ db }) => db.query(ownSql('select pg_sleep(600)')));
  const id = await queue.insertTask({ topic: 'hang' });
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', mensagem: message });
  await noTransaction();
  expect(await hasEffect(id)).toBe(false);
  expect(await bench.ended(await queue.insertTask({ topic: 'next' }))).toMatchObject({ status: 'sucesso' });
});

test('what is cut ends no session of somebody else’s that has its number on the server to which connections lead by then', async () => {
  const other = await bench.connect();
  const { rows } = await other.query(
    `select ${onPostgres ? 'pg_backend_pid()' : 'connection_id()'} as number`,
  );
  const number = Number(rows[0]?.['number']);
  const end = deferred();
  const { queue } = await startHanging(
    async (ctx) => {
      await leaveEffect(ctx);
      const client = (await ctx.client()) as unknown as {
        processID: number;
        connection: { threadId: number };
      };
      if (onPostgres) client.processID = number;
      else client.connection.threadId = number;
      await end.promise;
    },
    { concurrency: 2 },
  );
  const id = await queue.insertTask({ topic: 'hang' });
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', mensagem: message });
  // It comes after what ends the other one: the pool has one connection.
  expect(await bench.ended(await queue.insertTask({ topic: 'next' }))).toMatchObject({ status: 'sucesso' });
  expect((await other.query('select 1 as one')).rows).toHaveLength(1);
  end.resolve();
});

testOnPostgres('the end of a statement that hangs waits for nobody who waits for its locks', async () => {
  const { queue } = await startHanging(
    async ({ db }) => {
      await db.query('lock table effect in exclusive mode');
      await db.query('select pg_sleep(600)');
    },
    { concurrency: 2, poolSize: 1 },
  );
  // The second one waits for the only connection, and then for the lock that the first one holds.
  const ids = await queue.insertTasks([{ topic: 'hang', priority: 90 }, { topic: 'next' }]);
  expect(await bench.ended(ids[0] ?? '')).toMatchObject({ status: 'falha', mensagem: message });
  expect(await bench.ended(ids[1] ?? '')).toMatchObject({ status: 'sucesso' });
});

test('after its timeout a handler is refused further statements, and however it ends nothing is left unhandled', async () => {
  const end = deferred();
  const late = deferred<unknown>();
  const { queue } = await startHanging(async (ctx) => {
    await end.promise;
    await leaveEffect(ctx).catch((error: unknown) => late.resolve(error));
    throw new Error('too late to matter');
  });
  const id = await queue.insertTask({ topic: 'hang' });
  await bench.ended(id);
  end.resolve();
  expect(await late.promise).toMatchObject({ code: 'TASK_ENDED' });
  expect(await bench.ended(await queue.insertTask({ topic: 'next' }))).toMatchObject({ status: 'sucesso' });
  expect(await hasEffect(id)).toBe(false);
  expect(await bench.row(id)).toMatchObject({ mensagem: message });
});

test('a handler that times out before its first statement is refused it', async () => {
  const end = deferred();
  const late = deferred<unknown>();
  const { queue } = await startHanging(async (ctx) => {
    await end.promise;
    await leaveEffect(ctx).catch((error: unknown) => late.resolve(error));
  });
  const id = await queue.insertTask({ topic: 'hang', payload: 'no effect' });
  await bench.ended(id);
  end.resolve();
  expect(await late.promise).toMatchObject({ code: 'TASK_ENDED' });
  expect(await hasEffect(id)).toBe(false);
});

test('a handler that times out while it waits for a connection of the pool leaves the pool whole', async () => {
  const { queue } = await startHanging(() => Promise.resolve(), { concurrency: 2, poolSize: 1 });
  // A transaction of our own holds the effects, so that the first one hangs in its connection.
  const locker = await bench.connect();
  await locker.query('begin; lock table effect in access exclusive mode');
  const ids = await queue.insertTasks([{ topic: 'next' }, { topic: 'hang' }]);
  expect(await bench.ended(ids[1] ?? '')).toMatchObject({ status: 'falha', mensagem: message });
  await locker.query('rollback');
  expect(await bench.ended(ids[0] ?? '')).toMatchObject({ status: 'sucesso' });
  expect(await bench.ended(await queue.insertTask({ topic: 'next' }))).toMatchObject({ status: 'sucesso' });
  expect(await hasEffect(ids[1] ?? '')).toBe(false);
});
