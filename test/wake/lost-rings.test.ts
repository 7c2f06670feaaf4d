import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { WalkPace } from '../../lib/coordination/walk-pace.js';
import { TaskHandler } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

let database: TestDatabase;
let app: QueueApp | undefined;

beforeAll(async () => {
  database = await createDatabase();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await app?.close();
});

afterAll(() => database.drop());

class Handlers {
  @TaskHandler('a')
  handle(): void {}
}

test('what nobody rang for is found at the next poll, however rare sweeps are, and beside other work', async () => {
  // As if a sweep took so long that the next one is far off.
  vi.spyOn(WalkPace.prototype, 'dueInMs', 'get').mockReturnValue(3_600_000);
  app = await startApp(database, { handlers: [Handlers], pollIntervalMs: 200 });
  const { queue, events } = app;
  const first = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await first;
  const found = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'a');
  await database.pool.query(
    `begin; set local tarefa.quiet = 'on';
     insert into tasks (processo, data_hora) values ('a', now() - interval '1 hour'); commit`,
  );
  expect((await found).task.topic).toBe('a');
});
