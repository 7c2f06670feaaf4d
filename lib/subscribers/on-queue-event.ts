import 'reflect-metadata';
import { defaultQueueName } from '../options/part-token.js';
import { noteDecorated } from './decorated-classes.js';
import type { QueueEventMap, QueueEventName } from '../events.js';

/** What {@link OnQueueEvent} leaves on a method; one method may carry several. */
export interface QueueListenerMetadata {
  readonly event: QueueEventName;
  /** Name of the queue, when there are several. */
  readonly queue: string | undefined;
}

const metadataKey = Symbol.for('nestjs-tarefa:listeners');

export type ListenerDecorator<Name extends QueueEventName> = <
  Method extends (event: QueueEventMap[Name]) => unknown,
>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Calls the method for each event of that name. What it throws, or rejects with, becomes a warning: a listener
 * disturbs no task. Request-scoped providers are not called.
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
  return (target, _method, { value }) => {
    if (typeof value !== 'function') throw new TypeError('@OnQueueEvent() belongs on a method');
    const present = readQueueListeners(value);
    Reflect.defineMetadata(metadataKey, [...present, { event, queue }], value);
    noteDecorated(target, queue ?? defaultQueueName);
  };
}

/** What the decorators left on a method. */
export function readQueueListeners(method: object): readonly QueueListenerMetadata[] {
  return (Reflect.getMetadata(metadataKey, method) as QueueListenerMetadata[] | undefined) ?? [];
}
