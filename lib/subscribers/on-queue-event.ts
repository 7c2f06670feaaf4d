import 'reflect-metadata';
import { defaultQueueName } from '../options/part-token.js';
import { decoratedMethod } from './decorated-method.js';
import { noteDecorated, type Decoration } from './decorated-classes.js';
import type { QueueEventMap, QueueEventName } from '../events.js';

/** What {@link OnQueueEvent} leaves on a method; one method may carry several. */
export interface QueueListenerMetadata {
  readonly event: QueueEventName;
  /** Name of the queue, when there are several. */
  readonly queue: string | undefined;
}

const metadataKey = Symbol.for('nestjs-tarefa:listeners');

/** What {@link OnQueueEvent} makes: it fits methods that take what the event carries. */
export type ListenerDecorator<Name extends QueueEventName> = <
  Method extends (event: QueueEventMap[Name]) => unknown,
>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Calls the method for each event of that name. What it throws, or rejects with, becomes a warning: a listener
 * disturbs no task. The class needs one instance: a listener of one that is created for each request or user is named at start,
 * and not called.
 *
 * @example
 * @OnQueueEvent('task.buried')
 * tell({ task }: QueueEventMap['task.buried']) {
 *   this.chat.send(`${task.topic} gave up`);
 * }
 */
export function OnQueueEvent<Name extends QueueEventName>(
  event: Name,
  {
    queue,
  }: {
    /** Name of the queue, when there are several. */
    readonly queue?: string | undefined;
  } = {},
): ListenerDecorator<Name> {
  return (target, name, descriptor) => {
    const { method, implementation } = decoratedMethod('@OnQueueEvent', target, name, descriptor);
    const present = readQueueListeners(implementation);
    Reflect.defineMetadata(metadataKey, [...present, { event, queue }], implementation);
    noteDecorated(target, { ...describeListener({ event, queue }), method });
  };
}

/** What the decorators left on a method. */
export function readQueueListeners(method: object): readonly QueueListenerMetadata[] {
  return (Reflect.getMetadata(metadataKey, method) as QueueListenerMetadata[] | undefined) ?? [];
}

/** What stands on the method, as users write it, and the queue that it is for. */
export function describeListener({
  event,
  queue = defaultQueueName,
}: QueueListenerMetadata): Pick<Decoration, 'decorator' | 'queue'> {
  return { decorator: `@OnQueueEvent('${event}')`, queue };
}
