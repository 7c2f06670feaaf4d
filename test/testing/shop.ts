import { Injectable } from '@nestjs/common';
import {
  DeadSubscriber,
  DeadTaskHandler,
  QueueClient,
  RetryAt,
  Snooze,
  Subscriber,
  TaskHandler,
  UnrecoverableError,
  type TaskContext,
} from '../../lib/index.js';

/** Handlers that a tester drives: what they saw, in order. */
@Injectable()
export class Shop {
  readonly seen: string[] = [];

  constructor(private readonly queue: QueueClient) {}

  @TaskHandler('send-receipt')
  sendReceipt(order: { id: number }, { task }: TaskContext): object {
    this.seen.push(`receipt ${order.id}, attempt ${task.attempt}`);
    return { sent: order.id };
  }

  @TaskHandler('place-order')
  async place(order: { id: number }): Promise<string> {
    await this.queue.insertTask({ topic: 'send-receipt', payload: order, priority: 80 });
    await this.queue.insertTaskPubSub({
      topic: 'order-placed',
      payload: order,
      externalKey: `order-${order.id}`,
    });
    return 'placed';
  }

  @Subscriber('search-index')
  index(order: { id: number }, { subscription, task }: TaskContext): void {
    this.seen.push(`index ${order.id} for ${subscription?.id} of ${task.topic}`);
  }

  @DeadSubscriber('search-index')
  gaveUp(order: { id: number }): void {
    this.seen.push(`gave up index ${order.id}`);
  }

  @TaskHandler('busy', { maxAttempts: 3 })
  busy(_payload: unknown, { task }: TaskContext): void {
    this.seen.push(`busy ${task.attempt}`);
    throw new Error('the mail server is busy');
  }

  @DeadTaskHandler('busy')
  busyForGood(_payload: unknown, { task }: TaskContext): void {
    this.seen.push(`dead of ${task.liveId === null ? 'nothing' : 'busy'}, key ${task.key.length}`);
  }

  @TaskHandler('hopeless')
  hopeless(): never {
    throw new UnrecoverableError('there is no such order');
  }

  @TaskHandler('tomorrow')
  tomorrow(payload: string, { task }: TaskContext): void {
    if (task.attempt === 1) throw new RetryAt(new Date(payload), 'the bank is closed');
    this.seen.push(`tomorrow ${task.attempt}`);
  }

  @TaskHandler('early')
  early(): never {
    throw new Snooze(60_000, 'not yet');
  }

  @TaskHandler('endless')
  async endless(): Promise<void> {
    await this.queue.insertTask({ topic: 'endless' });
  }
}
