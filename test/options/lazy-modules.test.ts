import { Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { expect, test } from 'vitest';
import { QueueAdmin, QueueClient, QueueModule, TaskHandler } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class Handlers {
  @TaskHandler('served')
  run(): void {}
}

test('a queue in a lazily loaded module is refused by name, and that of the application goes on', async () => {
  const app = await bench.start({ handlers: [Handlers] });
  const second = QueueModule.forRoot({ name: 'second', connection: bench.database.url, queue: 'second' });
  @Module({ imports: [second] })
  class LateModule {}
  const loading = app.app.get(LazyModuleLoader).load(() => LateModule);
  await expect(loading).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining(
      `the queue 'second' is in a module loaded by LazyModuleLoader`,
    ) as unknown,
  });
  const completed = nextEvent(app.events, 'task.completed', () => true);
  await app.queue.insertTask({ topic: 'served' });
  await completed;
});

test('what a lazily loaded module provides may insert', async () => {
  const app = await bench.start({ handlers: [Handlers] });
  @Injectable()
  class LateService {
    constructor(readonly queue: QueueClient) {}
  }
  @Module({ imports: [QueueModule], providers: [LateService] })
  class LateModule {}
  const { queue } = (await app.app.get(LazyModuleLoader).load(() => LateModule)).get(LateService);
  const completed = nextEvent(app.events, 'task.completed', () => true);
  const id = await queue.insertTask({ topic: 'served' });
  expect((await completed).task).toMatchObject({ id });
});

test('a handler in a lazily loaded module is not found: its task waits, and is reported as unserved', async () => {
  const app = await bench.start({ handlers: [Handlers] });
  class LateHandlers {
    @TaskHandler('late')
    run(): void {}
  }
  @Module({ providers: [LateHandlers] })
  class LateModule {}
  await app.app.get(LazyModuleLoader).load(() => LateModule);
  await app.queue.insertTask({ topic: 'late', runAt: new Date(Date.now() - 60_000) });
  const completed = nextEvent(app.events, 'task.completed', () => true);
  const id = await app.queue.insertTask({ topic: 'served' });
  expect((await completed).task).toMatchObject({ id });
  expect(await app.app.get(QueueAdmin).unserved()).toMatchObject([{ topic: 'late' }]);
});
