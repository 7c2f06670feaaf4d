import 'reflect-metadata';
import { TarefaError } from '../queue.errors.js';
import type { StandardSchema } from '../standard-schema.js';
import { decoratorNames, type HandlerTarget } from './handler-registry.js';

/** How one handler is run. What is left out falls back to the queue's options. */
export interface HandlerOptions {
  /** Attempts of this handler that run at once in one worker. Default: as many as the worker runs in all. */
  readonly concurrency?: number;
  /**
   * After so many ms the attempt fails and `ctx.signal` aborts. The handler's slot stays taken until its
   * promise settles: inline code can be told to stop, not stopped. Default: none.
   */
  readonly timeoutMs?: number;
  /** Attempts a task may have. Default: the queue's. */
  readonly maxAttempts?: number;
  /** Ms from a failure to the next attempt. Default: the queue's rule. */
  readonly retryDelayMs?: number;
  /** The same by the number of the attempt that failed. */
  readonly retry?: (attempt: number) => number;
  /** `text`: the payload arrives as it is stored. Default `json`: text that begins with `{` or `[` is parsed. */
  readonly payload?: 'json' | 'text';
  /**
   * What the payload must look like, of any library that implements Standard Schema (Zod, Valibot, ArkType …). The
   * handler gets what the schema makes of it; a payload that does not match fails the task at once, without further
   * attempts, and one for the topic of a `@TaskHandler` is refused at insert already. Default: the queue's `schemas`.
   */
  readonly schema?: StandardSchema;
  /**
   * True for small handlers that do nothing but work through `ctx.db`: many tasks share one transaction, a savepoint
   * each, and run one after the other. Default: false.
   */
  readonly grouped?: boolean;
  /** Name of the queue, when there are several. */
  readonly queue?: string;
}

/** What a decorator leaves on a method; one method may carry several. */
export interface HandlerMetadata {
  readonly target: HandlerTarget;
  readonly options: HandlerOptions;
}

type HandlerDecorator = <Method extends (...args: never[]) => unknown>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

// Found by every copy of this library that an application may hold.
const metadataKey = Symbol.for('nestjs-tarefa:handlers');

/**
 * Handles the deliveries of one subscription: a publication of its topic becomes one for every active row of
 * the subscriptions table.
 *
 * @example
 * @Subscriber('search-index')
 * async index(order: OrderPlaced, ctx: TaskContext) {
 *   await ctx.db.query('insert into search_index (order_id) values ($1)', [order.id]);
 * }
 */
export function Subscriber(id: string, options: HandlerOptions = {}): HandlerDecorator {
  return append({ target: { kind: 'subscriber', id }, options });
}

/** Handles a delivery that ran out of attempts. Without one the dead delivery ends with a warning. */
export function DeadSubscriber(id: string, options: HandlerOptions = {}): HandlerDecorator {
  return append({ target: { kind: 'dead-subscriber', id }, options });
}

/**
 * Handles the tasks of one topic; without a topic, those of every topic that has no handler of its own.
 *
 * @example
 * @TaskHandler('send-receipt', { concurrency: 5, maxAttempts: 8, retryDelayMs: 2_000 })
 * async receipt(payload: Receipt) {}
 */
export function TaskHandler(topic?: string, options?: HandlerOptions): HandlerDecorator;
export function TaskHandler(options: HandlerOptions): HandlerDecorator;
export function TaskHandler(topic?: string | HandlerOptions, options: HandlerOptions = {}): HandlerDecorator {
  return append(taskMetadata('task', topic, options));
}

/** Handles a task of that topic that ran out of attempts; without a topic, of every topic. */
export function DeadTaskHandler(topic?: string, options?: HandlerOptions): HandlerDecorator;
export function DeadTaskHandler(options: HandlerOptions): HandlerDecorator;
export function DeadTaskHandler(
  topic?: string | HandlerOptions,
  options: HandlerOptions = {},
): HandlerDecorator {
  return append(taskMetadata('dead-task', topic, options));
}

/** What the decorators left on a method. */
export function readHandlerMetadata(method: object): readonly HandlerMetadata[] {
  return (Reflect.getMetadata(metadataKey, method) as HandlerMetadata[] | undefined) ?? [];
}

function taskMetadata(
  kind: 'task' | 'dead-task',
  topic: string | HandlerOptions | undefined,
  options: HandlerOptions,
): HandlerMetadata {
  return typeof topic === 'object' && topic !== null
    ? { target: { kind, id: undefined }, options: topic }
    : { target: { kind, id: topic }, options };
}

function append(metadata: HandlerMetadata): HandlerDecorator {
  return (target, name, descriptor) => {
    const method = descriptor.value;
    if (typeof target === 'function')
      throw unreachable(metadata, target, name, 'a static method has no instance');
    if (typeof name === 'symbol')
      throw unreachable(metadata, target, name, 'Nest finds methods named by text only');
    if (typeof method !== 'function') throw unreachable(metadata, target, name, 'it is no method');
    Reflect.defineMetadata(metadataKey, [...readHandlerMetadata(method), metadata], method);
  };
}

/** A handler that would never be found must not be ignored. */
function unreachable(
  { target: { kind } }: HandlerMetadata,
  target: object,
  method: string | symbol,
  why: string,
): TarefaError {
  const { name } = typeof target === 'function' ? target : target.constructor;
  return new TarefaError(
    'HANDLER_INVALID',
    `${decoratorNames[kind]} on ${name}.${String(method)} cannot work: ${why}. Put it on a method of a provider's class`,
  );
}
