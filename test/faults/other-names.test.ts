import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createElsewhere } from '../storage/conformance/other-mysql-settings.js';
import { mysqlStartMs, type MysqlTestDatabase } from '../support/mysql.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

// MariaDB with lower_case_table_names = 1, as it is set where tables have come from Windows.
let database: MysqlTestDatabase;
let apps: QueueApp[] = [];

beforeAll(async () => {
  database = await createElsewhere('mariadb');
}, mysqlStartMs);
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
afterAll(() => database?.drop());

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

async function start(options: QueueAppOptions): Promise<QueueApp> {
  const app = await startApp(database, { handlers: [Handlers], ...options });
  apps.push(app);
  return app;
}

test('a queue whose name the server writes in small letters is the same, however it is spelled', async () => {
  const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };
  const first = await start({ queue: 'Shop.Orders', recovery });
  const second = await start({ queue: 'orders', schema: 'check', recovery });
  const lost: string[] = [];
  for (const { events } of [first, second])
    events.on('task.recovered', ({ workerId }) => lost.push(workerId));
  for (const { queue } of [first, second]) {
    const completed = [first, second].map(({ events }) => nextEvent(events, 'task.completed'));
    const id = await queue.insertTask({ topic: 'work' });
    expect((await Promise.race(completed)).task.id).toBe(id);
  }
  // Each holds the lock by which the other one looks for it.
  expect(await first.retry.run()).toBe(0);
  expect(lost).toEqual([]);
  await expect(start({ queue: 'Shop.ORDERS', schema: 'check', worker: false })).resolves.toBeDefined();
});
