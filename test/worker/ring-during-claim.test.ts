import { afterAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startProxy } from '../support/database-proxy.js';
import { useApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

class Handlers {
  @TaskHandler('a')
  handle(): void {}
}

const database = await useDatabase();
const proxy = await startProxy(database);
afterAll(() => proxy.close());
const app = await useApp(proxy, {
  handlers: [Handlers],
  // Rings come by another way than the answers of claims.
  sessionConnection: database.url,
  pollIntervalMs: 0,
  scheduledTimer: false,
  // Nor does it look for routes that nobody serves.
  unknownTasks: 'leave',
});

test('a ring while a claim is under way is not lost: that claim may not have seen the task', async () => {
  // No task has run yet: after one, further looks would find what a ring was lost for. And the look at the start is over, at
  // whose end an idle worker asks for locked tasks.
  await until(async () => {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity
       where datname = current_database() and application_name like '% control' and state = 'idle' and query like '%would_claim%'`,
    );
    return rows.length === 1;
  }, 'the first claim is over');
  const answers = proxy.holdAnswers('control');
  await database.pool.query(`select pg_notify('tasks', '*')`);
  await answers.answered;
  const done = nextEvent(app.events, 'task.completed');
  await database.pool.query(`insert into tasks (processo) values ('a')`);
  // The session's answer to the lock of this routine comes after the ring.
  await app.purge.run();
  answers.release();
  expect(await done).toMatchObject({ task: { topic: 'a' } });
});
