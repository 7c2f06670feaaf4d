import { beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../../../lib/index.js';
import { useQueue } from '../../queue-bench.js';

const bench = useQueue();

beforeAll(() => bench.pool.query('create table effect (task bigint not null)'));

test('ctx.completeIn finishes a task in a transaction of the handler, beside the group', async () => {
  const codes: unknown[] = [];
  class Handlers {
    @TaskHandler('work', { grouped: true, maxAttempts: 1 })
    async work(way: unknown, ctx: TaskContext): Promise<void> {
      const tx = way === 'db' ? undefined : await bench.connect();
      await (tx ?? ctx.db).query('insert into effect values ($1)', [ctx.task.id]);
      if (way === 'both') await ctx.db.query('select 1');
      if (!tx) return;
      await tx.query('begin');
      await ctx.completeIn(tx).catch((error: { code: unknown }) => codes.push(error.code));
      await tx.query(way === 'rollback' ? 'rollback' : 'commit');
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers] });
  const ways = ['db', 'commit', 'rollback', 'both', 'db'];
  const ids = await queue.insertTasks(ways.map((payload) => ({ topic: 'work', payload })));
  const rows = await Promise.all(ids.map((id) => bench.ended(id)));
  expect(rows.map(({ status }) => status)).toEqual(['sucesso', 'sucesso', 'falha', 'sucesso', 'sucesso']);
  expect(rows[2]?.mensagem).toContain('was not committed when the handler ended');
  // Used as well, ctx.db is what the task ends with.
  expect(codes).toEqual(['TRANSACTION_BROKEN']);
});
