import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { postgresSql } from '../../sample-app/database/postgres-sql.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { documentAt, sqlUnder } from './documents.js';

let broken = true;

@Injectable()
class Handlers {
  @Subscriber('stock', { maxAttempts: 1 })
  reserve(order: { id: number; customer: string }): string {
    if (broken) throw new Error('the warehouse is closed');
    return `reserved for ${order.customer}`;
  }

  @TaskHandler()
  any(_payload: unknown, { task }: TaskContext): string {
    return `did ${task.topic}`;
  }
}

const database = await useDatabase();
await database.pool.query(postgresSql.createTables);
/** No worker looks by itself: what starts was rung for. */
const app = await useApp(database, { queue: 'shop_queue', handlers: [Handlers], pollIntervalMs: 0 });

test('inserting by SQL: a trigger publishes for whoever inserts an order, and a dead delivery is run again', async () => {
  await run('docs/guides/publish-subscribe.md', 'Subscriptions are rows', 0);
  await run('docs/guides/inserting.md', 'Plain SQL', 2);
  const dead = await taskWhere("subscription_id = 'stock' and is_dead and status = 'succeeded'");
  broken = false;

  await run('docs/guides/retries.md', 'Once more, by hand', 0, String(dead['live_task_id']));

  const again = await taskWhere("subscription_id = 'stock' and status = 'succeeded' and not is_dead");
  expect(again).toMatchObject({ replay: 1, message: 'reserved for Zoë', external_key: 'order-1' });
  await run('docs/guides/retries.md', 'Once more, by hand', 0, String(again['task_id']));
  expect(await taskWhere("subscription_id = 'stock' and replay = 2")).toMatchObject({
    external_key: 'order-1',
  });
});

test('inserting by SQL: with its hash a task is found by listEquivalentTask', async () => {
  await run('docs/guides/inserting.md', 'Plain SQL', 1);
  const order = { topic: 'send-receipt', externalKey: 'order-17', payload: { orderId: 17 } };
  let found: readonly unknown[] = [];
  // While a worker runs it, it is equivalent to none.
  await until(async () => {
    found = await app.queue.listEquivalentTask(order);
    return found.length > 0;
  }, 'it is found');
  expect(found).toHaveLength(1);
});

test('inserting by SQL: the statement of the Python example makes a task that runs', async () => {
  const [example] = documentAt('docs/guides/inserting.md').blocks.filter(
    ({ language }) => language === 'python',
  );
  const [, statement = ''] = /"(insert into [^"]+)"/.exec(example?.text ?? '') ?? [];
  let parameters = 0;
  const text = statement.replaceAll('%s', () => `$${(parameters += 1)}`);
  await database.pool.query(text, ['from-python', 'order-18', '{"orderId": 18}']);
  expect(await taskWhere("topic = 'from-python' and status = 'succeeded'")).toMatchObject({
    external_key: 'order-18',
    message: 'did from-python',
  });
});

test('a scheduled task that was moved starts at once when the queue is rung', async () => {
  await run('docs/guides/scheduling.md', 'Scheduled tasks', 0);
  const started = nextEvent(app.events, 'task.completed', ({ task: { topic } }) => topic === 'send-survey');
  await run('docs/guides/scheduling.md', 'Scheduled tasks', 1);
  expect(await started).toMatchObject({ message: 'did send-survey' });
});

/** Runs one of the SQL blocks under a heading, in which 17 stands for an id. */
async function run(path: string, heading: string, index: number, id = '17'): Promise<void> {
  const text = sqlUnder(path, heading)[index];
  if (text === undefined) throw new Error(`${path} has no block ${index} under '${heading}'`);
  await database.pool.query(text.replace('where id = 17', `where id = ${id}`));
}

/** Waits for a task in the view. */
function taskWhere(condition: string): Promise<Record<string, unknown>> {
  return until(async () => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select * from shop_queue_tasks where ${condition} order by task_id desc limit 1`,
    );
    return rows[0];
  }, condition);
}
