import { afterEach, beforeEach, expect, test } from 'vitest';
import { TaskHandler, type TarefaError } from '../../../lib/index.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { subscribe } from '../../support/subscriptions.js';
import { nextEvent } from '../../support/waiting.js';
import { onPostgres } from '../../support/run-database.js';

let database: TestDatabase;
let app: QueueApp | undefined;

beforeEach(async () => {
  database = await createDatabase();
});

afterEach(async () => {
  await app?.close();
  await database.drop();
});

/** Serves something, so that a dead publication is its business too. */
class OtherHandlers {
  @TaskHandler('other')
  other(): void {}
}

async function publishFailing(options: QueueAppOptions, before: () => Promise<unknown>): Promise<string> {
  app = await startApp(database, {
    handlers: [OtherHandlers],
    retryIntervalMinutes: 0,
    maxAttempts: 2,
    ...options,
  });
  await before();
  const failed = nextEvent(app.events, 'task.failed');
  const buried = nextEvent(app.events, 'task.buried');
  const ended = nextEvent(app.events, 'task.completed', ({ task }) => task.dead);
  await app.queue.insertTaskPubSub({ topic: 'order-placed', payload: 'x' });
  const { message, error } = await failed;
  expect((error as TarefaError).code).toBe('SUBSCRIPTIONS_UNAVAILABLE');
  // An ordinary failure: tried again, then buried, then treated as dead.
  expect(await buried).toMatchObject({ task: { attempt: 2 } });
  await ended;
  return message;
}

test('without a subscriptions table a publication fails and says what to set', async () => {
  const message = await publishFailing({ subscriptionTable: false }, async () => undefined);
  expect(message).toMatch(/no subscriptions table.*subscriptionTable.*QUEUE_SUBSCRIBER_TABLE/);
  const { rows } = await database.pool.query(
    `select (select count(*)::int from information_schema.tables where table_name = 'tasks_subscriber' and table_schema = ${onPostgres ? 'current_schema()' : 'database()'}) as subscriptions,
       (select mensagem from tasks order by id limit 1) as message`,
  );
  expect(rows).toEqual([{ subscriptions: 0, message: `${message} (will be tried again)` }]);
});

test('a subscriptions table that was dropped is named', async () => {
  const message = await publishFailing({}, () => database.pool.query('drop table tasks_subscriber'));
  expect(message).toMatch(/tasks_subscriber.*does(?: not|n.t) exist.*create it/);
});

test('once the table is there, the next attempt is delivered', async () => {
  app = await startApp(database, { retryIntervalMinutes: 525_600, unknownTasks: 'leave' });
  await database.pool.query('alter table tasks_subscriber rename to hidden');
  const failed = nextEvent(app.events, 'task.failed');
  await app.queue.insertTaskPubSub({ topic: 'order-placed' });
  await failed;
  await database.pool.query('alter table hidden rename to tasks_subscriber');
  await subscribe(database, [{ id: 'a' }]);
  const delivered = nextEvent(app.events, 'publication.delivered');
  await database.pool.query(
    `update tasks set data_hora = now() where status = 'agendada'; notify tasks, '* later'`,
  );
  expect(await delivered).toMatchObject({ task: { attempt: 2 }, deliveries: 1 });
});
