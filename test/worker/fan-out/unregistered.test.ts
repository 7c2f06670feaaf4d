import { expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TarefaError } from '../../../lib/index.js';
import type { QueueAppOptions } from '../../support/queue-app.js';
import { subscribe } from '../../support/subscriptions.js';
import { nextEvent } from '../../support/waiting.js';
import { unlessTold } from '../../support/run-database.js';
import { useQueue } from '../queue-bench.js';

/** Serves something, so that with `unknownTasks: 'fail'` what it does not know is its business: it fails. */
class OtherHandlers {
  @TaskHandler('other')
  other(): void {}
}

class LateHandlers extends OtherHandlers {
  @Subscriber('late')
  late(payload: unknown): string {
    return `got ${JSON.stringify(payload)}`;
  }
}

const bench = useQueue();

const start = (options: QueueAppOptions) =>
  bench.start({ pollIntervalMs: unlessTold, unknownTasks: 'fail', ...options });

test('a delivery without a method fails as not registered, is tried again, then dies', async () => {
  const { queue, events } = await start({
    handlers: [OtherHandlers],
    maxAttempts: 2,
    retryIntervalMinutes: 0,
  });
  await subscribe(bench.database, [{ id: 'late' }]);
  const failed = nextEvent(events, 'task.failed');
  const buried = nextEvent(events, 'task.buried');
  const ended = nextEvent(events, 'task.completed', ({ task }) => task.dead);
  await queue.insertTaskPubSub({ topic: 'order-placed' });
  const { error, message, task } = await failed;
  expect((error as TarefaError).code).toBe('HANDLER_NOT_REGISTERED');
  expect(message).toBe(`not registered: no method of this process handles subscription 'late'`);
  expect(task.subscriptionId).toBe('late');
  expect(await buried).toMatchObject({ task: { attempt: 2 } });
  expect(await ended).toMatchObject({ task: { subscriptionId: 'late' } });
});

test('a method that is registered later handles a later attempt', async () => {
  const first = await start({ handlers: [OtherHandlers], retryIntervalMinutes: 525_600 });
  await subscribe(bench.database, [{ id: 'late' }]);
  const failed = nextEvent(first.events, 'task.failed');
  await first.queue.insertTaskPubSub({ topic: 'order-placed', payload: { order: 1 } });
  const { task } = await failed;
  await first.close();

  const second = await start({ handlers: [LateHandlers] });
  const completed = nextEvent(second.events, 'task.completed');
  await bench.pool.query(
    `update tasks set data_hora = now() where status = 'agendada'; notify tasks, '* later'`,
  );
  expect(await completed).toMatchObject({
    task: { firstAttemptId: task.id, attempt: 2, subscriptionId: 'late' },
    message: 'got {"order":1}',
  });
});

test('workers that leave what they do not know leave it to the one that knows', async () => {
  const generalist = await start({ handlers: [OtherHandlers], unknownTasks: 'leave' });
  await subscribe(bench.database, [{ id: 'late' }]);
  await generalist.queue.insertTaskPubSub({ topic: 'order-placed', payload: 'x' });
  await nextEvent(generalist.events, 'publication.delivered');
  const specialist = await start({ handlers: [LateHandlers], unknownTasks: 'leave' });
  expect(await nextEvent(specialist.events, 'task.completed')).toMatchObject({
    task: { attempt: 1, subscriptionId: 'late' },
  });
});
