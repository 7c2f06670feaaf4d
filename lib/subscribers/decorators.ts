import 'reflect-metadata';
import { defaultQueueName } from '../options/part-token.js';
import type { StandardSchema } from '../values/standard-schema.js';
import type {
  ReceivedPayload,
  SubscriptionName,
  SubscriptionTopic,
  TopicName,
  TopicResult,
} from '../values/queue-topics.js';
import type { HandlerDecorator, HandlerPayload } from './handler-types.js';
import { noteDecorated, type Decoration } from './decorated-classes.js';
import { decoratedMethod } from './decorated-method.js';
import { decoratorNames, type HandlerTarget } from './handler-registry.js';

/** How one handler runs. Omitted options fall back to the queue's. */
export interface HandlerOptions<
  Schema extends StandardSchema | undefined = StandardSchema | undefined,
  Form extends 'json' | 'text' = 'json' | 'text',
  Transformed extends boolean = boolean,
> {
  /**
   * Attempts of this handler that run at once in one worker. Default: as many as the worker runs in all; of a detached one 1.
   */
  readonly concurrency?: number | undefined;
  /** Which of the queue's `lanes` it shares with other handlers. Default: none. */
  readonly lane?: string | undefined;
  /**
   * Milliseconds after which the attempt fails and `ctx.signal` aborts. The handler's slot stays taken until its
   * promise settles: inline code can be told to stop, not stopped. Default: none.
   */
  readonly timeoutMs?: number | undefined;
  /** Attempts a task may have. Default: the queue's. */
  readonly maxAttempts?: number | undefined;
  /** Ms from a failure to the next attempt. Default: the queue's rule. */
  readonly retryDelayMs?: number | undefined;
  /** Ms from a failure to the next attempt, by the number of the attempt that failed. Default: `retryDelayMs`. */
  readonly retry?: ((attempt: number) => number) | undefined;
  /** `text`: the payload arrives as it is stored. Default `json`: text that begins with `{` or `[` is parsed. */
  readonly payload?: Form | undefined;
  /**
   * What the payload must look like, of any library that implements Standard Schema (Zod, Valibot, ArkType …). The
   * handler gets what the schema makes of it; a payload that does not match fails the task at once, without further
   * attempts, and one for the topic of a `@TaskHandler` is refused at insert already. Default: the queue's `schemas`.
   */
  readonly schema?: Schema | undefined;
  /**
   * True where pipes or decorated parameters transform the payload, or interceptors the result, which the compiler cannot
   * see: it then does not compare the method with the payload and result of its topic. Default: false.
   */
  readonly transformed?: Transformed | undefined;
  /**
   * True for small handlers that only work through `ctx.db`: many tasks share one transaction, a savepoint each, and run
   * one after the other. Default: false.
   */
  readonly grouped?: boolean | undefined;
  /**
   * `thread` or `process`: the method runs in one that the queue's option `isolation` describes. What it computes keeps nobody
   * waiting, and its `timeoutMs` ends it whatever it does. A process also contains crashes of native code. `detached`: each
   * attempt gets a process of its own, which goes on when the worker that has started it stops or dies. Default: it runs on the
   * event loop.
   */
  readonly isolate?: 'thread' | 'process' | 'detached' | undefined;
  /** Name of the queue, when there are several. */
  readonly queue?: string | undefined;
}

/** How the handler of a subscription runs. Omitted options fall back to the queue's. */
export interface SubscriberOptions<
  Schema extends StandardSchema | undefined = StandardSchema | undefined,
  Form extends 'json' | 'text' = 'json' | 'text',
  Transformed extends boolean = boolean,
  Topic extends string = string,
> extends HandlerOptions<Schema, Form, Transformed> {
  /**
   * The topic it subscribes to. The first start creates the subscription's row; later starts leave it alone, so you can edit
   * or deactivate it. A deleted row comes back at the next start, or with a publication of the topic that would reach nobody.
   * If the row has a different topic, the start fails and shows both. Default: no row is created.
   */
  readonly topic?: Topic | undefined;
}

/** Topics that a subscription may declare: only its own where `QueueSubscriptions` lists it. */
type TopicOf<Id> = [SubscriptionTopic<Id>] extends [never] ? TopicName : SubscriptionTopic<Id>;

/** What a decorator leaves on a method; one method may carry several. */
export interface HandlerMetadata {
  readonly target: HandlerTarget;
  readonly options: SubscriberOptions;
}

/** A decorator of any method; only the overloads tell the compiler which methods it takes. */
type MethodDecoration = HandlerDecorator<never, unknown, true>;

// Shared by all copies of this library in an application.
const metadataKey = Symbol.for('nestjs-tarefa:handlers');

/**
 * Handles the deliveries of one subscription: a publication of its topic becomes one for every active row of
 * the subscriptions table.
 *
 * With `topic` a start makes that row; without it you make the row yourself.
 *
 * @example
 * @Subscriber('search-index', { topic: 'order-placed' })
 * async index(order: OrderPlaced, ctx: TaskContext) {
 *   await ctx.db.query('insert into search_index (order_id) values ($1)', [order.id]);
 * }
 */
export function Subscriber<
  Id extends SubscriptionName,
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
  Topic extends TopicOf<Id> = SubscriptionTopic<Id>,
>(
  id: Id,
  options?: SubscriberOptions<Schema, Form, Transformed, Topic>,
): HandlerDecorator<HandlerPayload<ReceivedPayload<Topic>, Schema, Form>, unknown, Transformed>;
export function Subscriber(id: string, options: SubscriberOptions = {}): MethodDecoration {
  return append({ target: { kind: 'subscriber', id }, options });
}

/** Handles a delivery that ran out of attempts. Without one the dead delivery ends with a warning. */
export function DeadSubscriber<
  Id extends SubscriptionName,
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
>(
  id: Id,
  options?: HandlerOptions<Schema, Form, Transformed>,
): HandlerDecorator<
  HandlerPayload<ReceivedPayload<SubscriptionTopic<Id>>, Schema, Form>,
  unknown,
  Transformed
>;
export function DeadSubscriber(id: string, options: HandlerOptions = {}): MethodDecoration {
  return append({ target: { kind: 'dead-subscriber', id }, options });
}

/**
 * Handles the tasks of one topic; without a topic, those of every topic that has no handler of its own.
 *
 * @example
 * @TaskHandler('send-receipt', { concurrency: 5, maxAttempts: 8, retryDelayMs: 2_000 })
 * async receipt(payload: Receipt) {}
 */
export function TaskHandler<
  Topic extends TopicName = never,
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
>(
  topic?: Topic,
  options?: HandlerOptions<Schema, Form, Transformed>,
): HandlerDecorator<HandlerPayload<ReceivedPayload<Topic>, Schema, Form>, TopicResult<Topic>, Transformed>;
export function TaskHandler<
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
>(
  options: HandlerOptions<Schema, Form, Transformed>,
): HandlerDecorator<HandlerPayload<never, Schema, Form>, unknown, Transformed>;
export function TaskHandler(topic?: string | HandlerOptions, options: HandlerOptions = {}): MethodDecoration {
  return append(taskMetadata('task', topic, options));
}

/** Handles a task of that topic that ran out of attempts; without a topic, of every topic. */
export function DeadTaskHandler<
  Topic extends TopicName = never,
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
>(
  topic?: Topic,
  options?: HandlerOptions<Schema, Form, Transformed>,
): HandlerDecorator<HandlerPayload<ReceivedPayload<Topic>, Schema, Form>, unknown, Transformed>;
export function DeadTaskHandler<
  Schema extends StandardSchema | undefined = undefined,
  Form extends 'json' | 'text' = 'json',
  Transformed extends boolean = false,
>(
  options: HandlerOptions<Schema, Form, Transformed>,
): HandlerDecorator<HandlerPayload<never, Schema, Form>, unknown, Transformed>;
export function DeadTaskHandler(
  topic?: string | HandlerOptions,
  options: HandlerOptions = {},
): MethodDecoration {
  return append(taskMetadata('dead-task', topic, options));
}

/** What the decorators left on a method. */
export function readHandlerMetadata(method: object): readonly HandlerMetadata[] {
  return (Reflect.getMetadata(metadataKey, method) as HandlerMetadata[] | undefined) ?? [];
}

/** What stands on the method, as users write it, and the queue that it is for. */
export function describeHandler({
  target: { kind, id },
  options: { queue = defaultQueueName },
}: HandlerMetadata): Pick<Decoration, 'decorator' | 'queue'> {
  return { decorator: `${decoratorNames[kind]}(${id === undefined ? '' : `'${id}'`})`, queue };
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

function append(metadata: HandlerMetadata): MethodDecoration {
  return (target, name, descriptor) => {
    const decorator = decoratorNames[metadata.target.kind];
    const { method, implementation } = decoratedMethod(decorator, target, name, descriptor);
    Reflect.defineMetadata(metadataKey, [...readHandlerMetadata(implementation), metadata], implementation);
    noteDecorated(target, { ...describeHandler(metadata), method });
  };
}
