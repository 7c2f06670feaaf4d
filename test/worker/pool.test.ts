import { Inject } from '@nestjs/common';
import { expect, test } from 'vitest';
import { QueueClient, TaskHandler, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

test('handlers that hold every connection of the pool can still insert outside of their transactions', async () => {
  let inTransaction = 0;
  class Parent {
    constructor(@Inject(QueueClient) private readonly queue: QueueClient) {}
    @TaskHandler('parent')
    async parent(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
      inTransaction += 1;
      await until(async () => inTransaction === 3, 'all connections to be held');
      await this.queue.insertTask({ topic: 'child' });
      await this.queue.insertTasks([{ topic: 'child' }, { topic: 'child' }]);
    }
    @TaskHandler('child')
    child(): void {}
  }
  const { queue } = await bench.start({ handlers: [Parent], concurrency: 3, poolSize: 3 });
  await queue.insertTasks(Array.from({ length: 3 }, () => ({ topic: 'parent' })));
  const counted = await until(async () => {
    const { rows } = await bench.pool.query(`select count(*)::int as n from tasks where status = 'sucesso'`);
    return rows[0].n === 12 && rows;
  }, 'parents and children to succeed');
  expect(counted).toEqual([{ n: 12 }]);
});
