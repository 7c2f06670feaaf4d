import { beforeAll, expect, test } from 'vitest';
import { hasCode, TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { ownSql } from '../support/run-database.js';
import { handleOf } from '../support/database.js';

const bench = useQueue();

beforeAll(async () => {
  await bench.pool.query('create table effect (task bigint not null, attempt integer not null)');
});

/** Handlers that have done their work and wait to be told to end, well or badly. */
async function startHolding() {
  const working = deferred();
  const end = deferred();
  const errors: unknown[] = [];
  const leaveEffect = ({ db, task }: TaskContext) =>
    db.query(ownSql('insert into effect values ($1, $2)'), [task.firstAttemptId, task.attempt]);
  const hold = ({ task }: TaskContext): Promise<void> | undefined => {
    working.resolve();
    return task.attempt === 1 ? end.promise : undefined;
  };
  class Holding {
    @TaskHandler('transaction')
    async transaction(_: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
      await hold(ctx);
    }
    @TaskHandler('batch', { concurrency: 5 })
    async batch(_: unknown, ctx: TaskContext): Promise<void> {
      await hold(ctx);
    }
    @TaskHandler('elsewhere')
    async elsewhere(_: unknown, ctx: TaskContext): Promise<void> {
      await hold(ctx);
      const tx = await bench.connect();
      await tx.query('begin');
      await tx.query('insert into effect values ($1, $2)', [ctx.task.firstAttemptId, ctx.task.attempt]);
      await ctx.completeIn(handleOf(tx)).catch(async (error: unknown) => {
        errors.push(error);
        await tx.query('rollback');
        throw error;
      });
      await tx.query('commit');
    }
  }
  const recovery = { intervalMs: 3_600_000, confirmMs: 0, graceMs: 0 };
  const app = await bench.start({ handlers: [Holding], recovery });
  const lost = nextEvent(app.events, 'task.lost');
  return { ...app, working, end, errors, lost };
}

/** What another worker that claims a row does to it. */
async function takeAway(id: string): Promise<void> {
  await bench.pool.query('update tasks set reserva = reserva + 1, executor = executor + 1000 where id = $1', [
    id,
  ]);
}

async function effectsOf(id: string): Promise<unknown[]> {
  const { rows } = await bench.pool.query('select attempt from effect where task = $1', [id]);
  return rows;
}

const takenAway = { status: 'processando', reserva: 2, mensagem: null, finalizada_em: null };

test('the transaction of an attempt that was taken away does not commit', async () => {
  const { queue, working, end, lost } = await startHolding();
  const id = await queue.insertTask({ topic: 'transaction' });
  await working.promise;
  await takeAway(id);
  end.resolve();
  expect((await lost).task.id).toBe(id);
  expect(await effectsOf(id)).toEqual([]);
  expect(await bench.chain(id)).toMatchObject([takenAway]);
});

test('without a transaction the outcome is refused, and those of the same batch are written', async () => {
  const { queue, working, end, lost } = await startHolding();
  const ids = await queue.insertTasks(Array.from({ length: 5 }, () => ({ topic: 'batch' })));
  await working.promise;
  await until(async () => (await bench.row(ids[4] ?? '')).status === 'processando', 'all five to run');
  await takeAway(ids[2] ?? '');
  end.resolve();
  expect((await lost).task.id).toBe(ids[2]);
  const rows = await Promise.all(ids.map((id) => (id === ids[2] ? bench.row(id) : bench.ended(id))));
  const succeeded = { status: 'sucesso' };
  expect(rows).toMatchObject([succeeded, succeeded, takenAway, succeeded, succeeded]);
});

test.each(['transaction', 'batch'])(
  'the failure of an attempt that was taken away is refused: no second successor (%s)',
  async (topic) => {
    const { queue, working, end, lost } = await startHolding();
    const id = await queue.insertTask({ topic });
    await working.promise;
    await takeAway(id);
    end.reject(new Error('too late'));
    expect((await lost).task.id).toBe(id);
    expect(await effectsOf(id)).toEqual([]);
    expect(await bench.chain(id)).toMatchObject([takenAway]);
  },
);

test('ctx.completeIn refuses, so that the transaction of the handler rolls back', async () => {
  const { queue, working, end, errors, lost } = await startHolding();
  const id = await queue.insertTask({ topic: 'elsewhere' });
  await working.promise;
  await takeAway(id);
  end.resolve();
  expect((await lost).task.id).toBe(id);
  expect(errors.map((error) => hasCode(error, 'TASK_LOST'))).toEqual([true]);
  expect(await effectsOf(id)).toEqual([]);
  expect(await bench.chain(id)).toMatchObject([takenAway]);
});

test.each(['transaction', 'batch', 'elsewhere'])(
  'a task that was recovered while its handler still ran has its effects once (%s)',
  async (topic) => {
    const { queue, retry, working, end, lost } = await startHolding();
    const id = await queue.insertTask({ topic });
    await working.promise;
    // As if its worker had lost its session: a worker that nobody hears of holds the row.
    await bench.pool.query('update tasks set executor = 999999 where id = $1', [id]);
    expect(await retry.run()).toBe(1);
    const [first, second] = await bench.endedChain(id, 2);
    end.resolve();
    expect((await lost).task.id).toBe(id);
    expect(first).toMatchObject({ status: 'falha', reenfileirado: true });
    expect(second).toMatchObject({ status: 'sucesso', tentativa: 2 });
    expect(await effectsOf(id)).toEqual(topic === 'batch' ? [] : [{ attempt: 2 }]);
    expect(await bench.chain(id)).toHaveLength(2);
  },
);
