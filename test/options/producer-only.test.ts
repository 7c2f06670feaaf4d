import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, expect, test } from 'vitest';
import { Subscriber, TaskHandler } from '../../lib/index.js';
import { allClosed, connectionNames } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import { forkChild } from '../support/processes.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();

afterEach(() => allClosed(database));

class Handlers {
  @TaskHandler('greet')
  greet(name: string): string {
    return `hello ${name}`;
  }

  @Subscriber('mail')
  mail(): string {
    return 'sent';
  }
}

const startProducer = (options: QueueAppOptions = {}): Promise<QueueApp> =>
  startApp(database, { worker: false, handlers: [Handlers], ...options });

test('a producer has no session and no cron job', async () => {
  const { app, queue, close } = await startProducer({ imports: [ScheduleModule.forRoot()] });
  await queue.insertTask({ topic: 'greet' });
  expect(await connectionNames(database)).toEqual(['tarefa tasks pool']);
  expect(app.get(SchedulerRegistry).getCronJobs().size).toBe(0);
  await close();
});

test('it works nothing, and its worker says why it does not start', async () => {
  const { worker, retry, notify, purge, close } = await startProducer();
  expect(worker.id).toBeUndefined();
  await expect(worker.start()).rejects.toMatchObject({
    code: 'WORKER_STOPPED',
    message: expect.stringContaining('worker: false'),
  });
  expect(await Promise.all([retry.run(), notify.run(), purge.run()])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  await worker.stop();
  await close();
});

test('what it inserts is found by a worker at once, without polls', async () => {
  const consumer = await startApp(database, { handlers: [Handlers], pollIntervalMs: 0 });
  await database.pool.query(`insert into tasks_subscriber (id, processo) values ('mail', 'placed')`);
  const { queue, close } = await startProducer();
  const greeted = nextEvent(consumer.events, 'task.completed', ({ message }) => message === 'hello Ana');
  const mailed = nextEvent(consumer.events, 'task.completed', ({ message }) => message === 'sent');
  await queue.insertTask({ topic: 'greet', payload: 'Ana' });
  await queue.insertTaskPubSub({ topic: 'placed' });
  expect(await greeted).toBeDefined();
  expect(await mailed).toBeDefined();
  await close();
  await consumer.close();
});

test('a producer that closes right after its inserts has rung for the last of them', async () => {
  const bell = await listen(database, 'tasks');
  const { queue, close } = await startProducer({ poolSize: 1 });
  await Promise.all([queue.insertTask({ topic: 'nobody' }), queue.insertTask({ topic: 'nobody' })]);
  await queue.insertTask({ topic: 'nobody', delayMs: 60_000 });
  await close();
  expect((await bell.heard()).at(-1)).toMatch(/ later$/);
  await bell.close();
});

/** Boots a producer in a process of its own, which inserts one task and then ends by itself. */
async function runProcess(env: Readonly<Record<string, string>>, connection: unknown): Promise<unknown> {
  const options = JSON.stringify({ connection, queue: 'tasks', worker: false });
  const child = forkChild('boot', { env: { ...env, QUEUE_OPTIONS: options, TOPIC: 'nobody' } });
  const report = await child.message(({ type }) => type !== 'failed');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  return report;
}

test('its process ends by itself once it is closed', async () => {
  expect(await runProcess({}, database.url)).toEqual({ type: 'closed', id: expect.stringMatching(/^\d+$/) });
});

test('no timer and no listener keep its process alive, closed or not', async () => {
  // The pool's own idle connections would, for ten seconds.
  const connection = { connectionString: database.url, allowExitOnIdle: true };
  expect(await runProcess({ LEAVE_OPEN: 'yes' }, connection)).toMatchObject({ type: 'open' });
});
