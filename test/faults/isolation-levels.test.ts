import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { leaveEffect } from '../support/leave-effect.js';
import type { QueueApp } from '../support/queue-app.js';
import { createEffectTable } from '../support/worker-process.js';
import { useQueue } from '../worker/queue-bench.js';
import { allOnce, drained } from './kit/outcome.js';

const bench = useQueue('effect');
/** Each pair of tasks meets once, when both have done their first statement. */
let meetings: Map<string, () => void>;

beforeAll(async () => {
  await createEffectTable(bench);
  await bench.pool.query('create table account (id int primary key, amount int not null)');
  await bench.pool.query('insert into account select n, 100 from generate_series(1, 2) n');
});

beforeEach(() => {
  meetings = new Map();
});

interface Work {
  readonly pair: string;
  readonly first: number;
  readonly second: number;
}

class Handlers {
  @TaskHandler('effect', { retryDelayMs: 20 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('batch')
  batch(): void {}

  /** Two of them lock what the other one needs. */
  @TaskHandler('effect, deadlock', { retryDelayMs: 20 })
  async deadlock({ pair, first, second }: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    const change = 'update account set amount = amount + 1 where id = $1';
    await ctx.db.query(change, [first]);
    if (ctx.task.attempt === 1) await meet(pair);
    await ctx.db.query(change, [second]);
  }

  /** Each reads what the other one writes: PostgreSQL refuses the second COMMIT, or a statement before it. */
  @TaskHandler('effect, skew', { retryDelayMs: 20 })
  async skew({ pair, first, second }: Work, ctx: TaskContext): Promise<void> {
    await ctx.db.query('set transaction isolation level serializable');
    await leaveEffect(ctx);
    await ctx.db.query('select amount from account where id = $1', [first]);
    if (ctx.task.attempt === 1) await meet(pair);
    await ctx.db.query('update account set amount = amount + 1 where id = $1', [second]);
  }
}

/** Waits for the other one of a pair. */
async function meet(pair: string): Promise<void> {
  const other = meetings.get(pair);
  if (other) other();
  else await new Promise<void>((resolve) => meetings.set(pair, resolve));
}

const start = (): Promise<QueueApp> => bench.start({ handlers: [Handlers], retryIntervalMinutes: 0 });

async function attempts(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ attempt: string }>(
    `select concat_ws(' ', status, tentativa) as attempt from tasks order by 1`,
  );
  return rows.map(({ attempt }) => attempt);
}

test.each(['serializable', 'repeatable read'])(
  'a database whose transactions are %s by default changes nothing: no attempt fails by that',
  async (level) => {
    const name = new URL(bench.database.url).pathname.slice(1);
    const alter = (how: string) => bench.pool.query(`alter database ${name} ${how}`);
    await alter(`set default_transaction_isolation = '${level}'`);
    onTestFinished(async () => void (await alter('reset default_transaction_isolation')));
    const [{ queue }] = await Promise.all([start(), start()]);
    for (let batch = 0; batch < 10; batch += 1) {
      await queue.insertTasks(
        Array.from({ length: 60 }, (_, n) => ({ topic: n % 3 === 0 ? 'batch' : 'effect' })),
      );
    }
    expect(await drained(bench.pool)).toEqual(allOnce(400, 200));
    const { rows } = await bench.pool.query(
      'select max(tentativa) as attempts, max(reserva) as claims from tasks',
    );
    expect(rows).toEqual([{ attempts: 1, claims: 1 }]);
  },
);

test.each([
  { topic: 'effect, deadlock', code: '40P01', first: [1, 2], second: [2, 1] },
  { topic: 'effect, skew', code: '40001', first: [1, 2], second: [2, 1] },
])(
  'a handler that PostgreSQL refuses with $code fails that attempt only',
  async ({ topic, code, first, second }) => {
    const { queue, events } = await start();
    const codes: unknown[] = [];
    events.on('task.failed', ({ error }) => codes.push((error as { code?: unknown }).code));
    await queue.insertTasks(
      [first, second].map(([one, other]) => ({ topic, payload: { pair: code, first: one, second: other } })),
    );
    expect(await drained(bench.pool)).toEqual(allOnce(2));
    expect(codes).toEqual([code]);
    expect(await attempts()).toEqual(['falha 1', 'sucesso 1', 'sucesso 2']);
  },
);
