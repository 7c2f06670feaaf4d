// Compiled with everything else: what must not compile is marked.

import type { QueueClient, TaskInput, TopicPayload } from '../../lib/index.js';

declare module '../../lib/client/task-input.js' {
  interface QueueTopics {
    'typed-order': { id: number };
    'typed-receipt': string;
  }
}

/** Topics that the application declares take their payload only. */
export function declared(queue: QueueClient): void {
  void queue.insertTask({ topic: 'typed-order', payload: { id: 1 } });
  // @ts-expect-error the payload of this topic has an id that is a number
  void queue.insertTask({ topic: 'typed-order', payload: { id: 'x' } });
  // @ts-expect-error the payload of this topic is text
  void queue.insertTaskPubSub({ topic: 'typed-receipt', payload: 1 });
  void queue.insertTasks([
    { topic: 'typed-order', payload: { id: 1 } },
    { topic: 'typed-receipt', payload: 'text' },
    { topic: 'other', payload: 1n },
  ]);
  void queue.insertTasks([
    { topic: 'typed-receipt', payload: 'text' },
    // @ts-expect-error the payload of this topic has an id that is a number
    { topic: 'typed-order', payload: 'text' },
  ]);
}

/** Other topics, and those known at run time only, take anything. */
export function others(queue: QueueClient): void {
  void queue.insertTask({ topic: 'other', payload: new Date() });
  void queue.insertTask({ payload: 'text' });
  const topic = ['typed-order'].join();
  void queue.insertTask({ topic, payload: { id: 'x' } });
  const many: TaskInput[] = [{ topic: 'typed-order', payload: 4 }];
  void queue.insertTasks(many);
  void queue.insertTasks(many.map((input) => ({ ...input, priority: 4 })));
  const declaredPayload: TopicPayload<'typed-order'> = { id: 1 };
  // @ts-expect-error it has an id that is a number
  const wrongPayload: TopicPayload<'typed-order'> = {};
  const anything: TopicPayload<'other'>[] = [declaredPayload, wrongPayload, 4];
  void anything;
}
