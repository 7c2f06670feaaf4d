import { expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../../../lib/index.js';
import { nextEvent } from '../../../support/waiting.js';
import { leaveEffect, succeed, useGroups, type Act } from './group-bench.js';

const bench = useGroups();
const five: readonly Act[] = [succeed, succeed, succeed, succeed, succeed];

/** All succeed but the one at that place. */
const butThird = (act: Act): readonly Act[] => five.map((other, index) => (index === 2 ? act : other));

test('tasks of one claim commit together, each with its own outcome', async () => {
  const { rows, effects, transactions } = await bench.run([
    succeed,
    () => 'done',
    ({ task }) => ({ task: task.id }),
  ]);
  expect(rows).toMatchObject([
    { status: 'sucesso', mensagem: 'completed', resultado: null },
    { status: 'sucesso', mensagem: 'done', resultado: null },
    { status: 'sucesso', mensagem: 'completed', resultado: `{"task":"${rows[2]?.id}"}` },
  ]);
  expect(effects).toEqual([1, 1, 1]);
  expect(transactions).toHaveLength(1);
});

test('nothing of them is there before, and nobody hears of it before', async () => {
  const completed: string[] = [];
  const seen: unknown[] = [];
  const last: Act = async ({ task }) => {
    const { rows } = await bench.pool.query('select status from tasks order by id');
    seen.push(rows, await bench.effects(), [...completed]);
    return task.id;
  };
  const started = await bench.begin([succeed, last], { autoStart: false });
  started.events.on('task.completed', ({ task }) => completed.push(task.id));
  await started.worker.start();
  await started.outcome();
  expect(seen).toEqual([[{ status: 'processando' }, { status: 'processando' }], [], []]);
  expect(completed).toEqual(started.ids);
});

test('one that throws is undone alone, and fails as any other', async () => {
  const { rows, runs, effects, transactions } = await bench.run(
    butThird(() => {
      throw new Error('on second thoughts');
    }),
  );
  expect(rows.map(({ status }) => status)).toEqual(['sucesso', 'sucesso', 'falha', 'sucesso', 'sucesso']);
  expect(rows[2]?.mensagem).toContain('on second thoughts');
  expect({ runs, effects }).toEqual({ runs: [1, 1, 1, 1, 1], effects: [1, 1, 0, 1, 1] });
  expect(transactions).toHaveLength(1);
});

test.each([
  { leaves: true, text: 'relation "nowhere" does not exist' },
  { leaves: false, text: 'its error was swallowed: relation "nowhere" does not exist' },
])(
  'a database error fails the one that met it (it leaves the handler: $leaves)',
  async ({ leaves, text }) => {
    const { rows, runs, effects, transactions } = await bench.run(
      butThird(async ({ db }) => {
        const query = db.query('select * from nowhere');
        await (leaves ? query : query.catch(() => undefined));
      }),
    );
    expect(rows.map(({ status }) => status)).toEqual(['sucesso', 'sucesso', 'falha', 'sucesso', 'sucesso']);
    expect(rows[2]?.mensagem).toContain(text);
    expect({ runs, effects }).toEqual({ runs: [1, 1, 1, 1, 1], effects: [1, 1, 0, 1, 1] });
    expect(transactions).toHaveLength(1);
  },
);

test('when all fail nothing is left, and the next ones run', async () => {
  const fail: Act = () => {
    throw new Error('no');
  };
  const { rows, effects } = await bench.run([fail, fail, fail]);
  expect(rows.map(({ status }) => status)).toEqual(['falha', 'falha', 'falha']);
  expect(effects).toEqual([0, 0, 0]);
});

test('statements that nobody awaited are part of it; late ones are refused', async () => {
  let late: (() => Promise<unknown>) | undefined;
  const { rows, effects, transactions } = await bench.run([
    (ctx) => {
      late = () => leaveEffect(ctx);
      void leaveEffect(ctx);
    },
    async () => {
      await expect(late?.()).rejects.toMatchObject({ code: 'TASK_ENDED' });
    },
  ]);
  expect(rows.map(({ mensagem }) => mensagem)).toEqual(['completed', 'completed']);
  expect(effects).toEqual([2, 1]);
  expect(transactions).toHaveLength(1);
});

test('ctx.client() is the client of that transaction; what it leaves unanswered counts', async () => {
  const { rows, effects, transactions } = await bench.run([
    succeed,
    async (ctx) => {
      const client = await ctx.client();
      void client.query('insert into effect (task) values ($1)', [ctx.task.id]);
    },
    async (ctx) => {
      const client = await ctx.client();
      client.query('select 1 / 0 from pg_sleep(0.05)').catch(() => undefined);
    },
    succeed,
  ]);
  expect(rows.map(({ status }) => status)).toEqual(['sucesso', 'sucesso', 'falha', 'sucesso']);
  expect(rows[2]?.mensagem).toContain('its error was swallowed');
  expect(effects).toEqual([1, 2, 0, 1]);
  expect(transactions).toHaveLength(1);
});

test('no group has more than fifty tasks, and many need few', async () => {
  const { rows, effects } = await bench.run(
    Array.from({ length: 230 }, () => succeed),
    { concurrency: 300, poolSize: 4 },
  );
  expect(rows.every(({ status }) => status === 'sucesso')).toBe(true);
  expect(effects.every((count) => count === 1)).toBe(true);
  const perGroup = new Map<string, number>();
  for (const { xid } of await bench.effects()) perGroup.set(xid, (perGroup.get(xid) ?? 0) + 1);
  expect(Math.max(...perGroup.values())).toBeLessThanOrEqual(50);
  expect(perGroup.size).toBeLessThan(20);
});

test('a handler that asks for no transaction needs none; dead handlers can be grouped as well', async () => {
  class Handlers {
    @TaskHandler('idle', { grouped: true, maxAttempts: 1 })
    idle(payload: unknown): string {
      if (payload === 'fail') throw new Error('no');
      return 'nothing to do';
    }
    @DeadTaskHandler('idle', { grouped: true })
    async gaveUp(_: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
    }
  }
  const { queue, events } = await bench.start({ handlers: [Handlers] });
  const buried = nextEvent(events, 'task.buried');
  const ids = await queue.insertTasks([{ topic: 'idle' }, { topic: 'idle', payload: 'fail' }]);
  expect(await bench.ended(ids[0] ?? '')).toMatchObject({ status: 'sucesso', mensagem: 'nothing to do' });
  expect(await bench.ended(ids[1] ?? '')).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('no'),
  });
  const { deadId } = await buried;
  expect(await bench.ended(deadId)).toMatchObject({ status: 'sucesso' });
  expect((await bench.effects()).map(({ task }) => task)).toContain(deadId);
});
