import { Injectable } from '@nestjs/common';
import { take, toArray, firstValueFrom } from 'rxjs';
import { expect, test } from 'vitest';
import { OnQueueEvent, TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

@Injectable()
class Handlers {
  @TaskHandler('a', { maxAttempts: 1 })
  handle(payload: unknown): void {
    if (payload === 'bad') throw new Error('of the handler');
  }
}

test('methods listen to events, several on one, and their errors are warnings', async () => {
  const heard: unknown[] = [];
  @Injectable()
  class Listeners {
    readonly prefix = 'heard';
    @OnQueueEvent('task.completed')
    completed({ task }: QueueEventMap['task.completed']): void {
      heard.push([this.prefix, task.topic]);
    }
    @OnQueueEvent('task.failed')
    @OnQueueEvent('task.buried')
    async failed({ task }: { task: QueueEventMap['task.failed']['task'] }): Promise<void> {
      heard.push([this.prefix, task.attempt]);
      await Promise.reject(new Error('of the listener'));
    }
  }
  const { queue, events } = await bench.start({ handlers: [Handlers, Listeners] });
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await completed;
  expect(heard).toEqual([['heard', 'a']]);
  const warned = firstValueFrom(events.observe('warning').pipe(take(2), toArray()));
  await queue.insertTask({ topic: 'a', payload: 'bad' });
  expect((await warned).map(({ message }) => message)).toEqual([
    "Listeners.failed failed on 'task.failed': Error: of the listener",
    "Listeners.failed failed on 'task.buried': Error: of the listener",
  ]);
  expect(heard.slice(1)).toEqual([
    ['heard', 1],
    ['heard', 1],
  ]);
});

test('an observable hears while it is subscribed', async () => {
  const { queue, events } = await bench.start({ handlers: [Handlers] });
  const topics: unknown[] = [];
  const subscription = events.observe('task.completed').subscribe(({ task }) => topics.push(task.topic));
  expect(events.has('task.completed')).toBe(true);
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'a' });
  await completed;
  subscription.unsubscribe();
  expect(events.has('task.completed')).toBe(false);
  expect(topics).toEqual(['a']);
});

test('a listener for a queue that is not there is refused', async () => {
  @Injectable()
  class Listeners {
    @OnQueueEvent('task.completed', { queue: 'nowhere' })
    completed(): void {}
  }
  await expect(bench.start({ handlers: [Listeners] })).rejects.toThrow(
    "Listeners.completed is for the queue 'nowhere', but the application has only 'default'",
  );
});
