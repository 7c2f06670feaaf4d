import { beforeAll, expect, test } from 'vitest';
import type { Client } from 'pg';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { ownSql } from '../support/run-database.js';
import { handleOf } from '../support/database.js';

const bench = useQueue();

beforeAll(() => bench.pool.query('create table effect (task bigint not null)'));

/** Runs a handler that has a transaction of its own, with its effect in it. */
async function runOnce(handle: (ctx: TaskContext, tx: Client) => unknown) {
  class Handlers {
    @TaskHandler('work', { maxAttempts: 1 })
    async work(_: unknown, ctx: TaskContext): Promise<unknown> {
      const tx = await bench.connect();
      await tx.query('begin');
      await tx.query('insert into effect values ($1)', [ctx.task.id]);
      return handle(ctx, tx);
    }
  }
  const { queue, events, worker } = await bench.start({ handlers: [Handlers] });
  const completed = nextEvent(events, 'task.completed');
  const id = await queue.insertTask({ topic: 'work' });
  const row = await bench.ended(id);
  const { rows } = await bench.pool.query('select from effect where task = $1', [id]);
  return { row, effects: rows.length, completed, worker };
}

test('a task is completed by the commit of a transaction of its handler', async () => {
  const { row, effects, completed, worker } = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx), 'sent');
    expect(await bench.row(ctx.task.id)).toMatchObject({ status: 'processando' });
    await tx.query('commit');
    return 'not recorded';
  });
  expect({ row, effects }).toMatchObject({
    row: { status: 'sucesso', mensagem: 'sent', resultado: null },
    effects: 1,
  });
  expect(row).toMatchObject({ executor: worker.id, reserva: 1, finalizada_em: expect.any(Date) });
  expect((await completed).task.id).toBe(row.id);
});

test('a result is recorded like a returned one', async () => {
  const { row } = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx), { parcels: 2 });
    await tx.query('commit');
  });
  expect(row).toMatchObject({ status: 'sucesso', mensagem: 'completed', resultado: '{"parcels":2}' });
});

test('a transaction that is rolled back fails the attempt', async () => {
  const outcome = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx));
    await tx.query('rollback');
  });
  expect(outcome).toMatchObject({
    row: { status: 'falha', mensagem: expect.stringContaining('given to ctx.completeIn was not committed') },
    effects: 0,
  });
});

test('what is thrown before the commit fails the attempt with its own message', async () => {
  const outcome = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx));
    await tx.query('rollback');
    throw new Error('changed my mind');
  });
  expect(outcome).toMatchObject({
    row: { status: 'falha', mensagem: expect.stringContaining('changed my mind') },
  });
});

test('what is thrown after the commit changes nothing any more', async () => {
  const { row, effects, completed } = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx), 'sent');
    await tx.query('commit');
    throw new Error('too late');
  });
  expect({ row, effects }).toMatchObject({ row: { status: 'sucesso', mensagem: 'sent' }, effects: 1 });
  expect((await completed).task.id).toBe(row.id);
});

test('a commit under way when the handler ends is waited for', async () => {
  const outcome = await runOnce(async (ctx, tx) => {
    await ctx.completeIn(handleOf(tx));
    void tx.query('select pg_sleep(0.2)');
    void tx.query('commit');
  });
  expect(outcome).toMatchObject({ row: { status: 'sucesso' }, effects: 1 });
});

test('together with ctx.db it is refused, because what ctx.db did would be lost', async () => {
  const outcome = await runOnce(async (ctx, tx) => {
    await ctx.db.query(ownSql('insert into effect values ($1)'), [ctx.task.id]);
    await ctx.completeIn(handleOf(tx));
  });
  expect(outcome).toMatchObject({
    row: {
      status: 'falha',
      mensagem: expect.stringContaining('whose work would be lost: use only one of them'),
    },
    effects: 0,
  });
});

test('after the end of the handler it is refused', async () => {
  const ended = deferred();
  const refused = deferred<unknown>();
  const { row } = await runOnce((ctx, tx) => {
    void ended.promise
      .then(() => ctx.completeIn(handleOf(tx)))
      .catch((error: unknown) => refused.resolve(error));
    return 'done';
  });
  ended.resolve();
  expect(row).toMatchObject({ status: 'sucesso', mensagem: 'done' });
  expect(await refused.promise).toMatchObject({ code: 'TASK_ENDED' });
});

test('a handler may go on after the commit that completed its task: it is not taken for lost', async () => {
  const compared = deferred();
  const finished = deferred<boolean>();
  class Handlers {
    @TaskHandler('work')
    async work(_: unknown, ctx: TaskContext): Promise<void> {
      const tx = await bench.connect();
      await tx.query('begin');
      await ctx.completeIn(handleOf(tx));
      await tx.query('commit');
      await bench.pool.query(
        `insert into tasks (processo, status, executor, reserva) values ('unknown to it', 'processando', $1, 1)`,
        [worker.id],
      );
      await compared.promise;
      finished.resolve(ctx.signal.aborted);
    }
  }
  const { queue, events, worker } = await bench.start({ handlers: [Handlers], pollIntervalMs: 50 });
  // What it holds according to the table, and knows nothing of, it gives back when it compares the two.
  events.on('task.released', () => compared.resolve());
  await queue.insertTask({ topic: 'work' });
  expect(await finished.promise).toBe(false);
});
