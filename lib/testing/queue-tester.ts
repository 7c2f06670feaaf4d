import { AssertionError } from 'node:assert';
import type { INestApplicationContext } from '@nestjs/common';
import { SubscriptionAdmin } from '../admin/subscription-admin.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { DeliveryParts, TestAccess } from '../storage/test-access.js';
import { encodePayload, encodeTask, type TaskInput } from '../client/task-input.js';
import type { TopicName } from '../values/queue-topics.js';
import type { QueueBasis } from '../assembly/core.js';
import { defaultQueueName, getPartToken } from '../options/part-token.js';
import { hasCode } from '../errors.js';
import type { QueueDatabase } from '../storage/database.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import type { QueueWorkerAssembly } from '../assembly/worker.js';
import { inMs, type Duration } from './duration.js';
import { asInserted, matcher, type InsertedMatch, type InsertedTask } from './inserted-task.js';
import { Stepper } from './stepper.js';

/** One attempt that a tester ran, and how it ended. */
export interface TaskRun {
  /** The attempt: its status, message, result and error. */
  readonly task: TaskRecord;
  /** What its handler threw; undefined when it did not. */
  readonly thrown: unknown;
}

/** How far to drain. */
export interface DrainOptions {
  /** True: when nothing is due, time moves on to what is next, so that retries and later tasks run too. Default false. */
  readonly travel?: boolean | undefined;
  /** Stops as soon as that task stands there: a failed one has no further attempt. Default: when nothing is left. */
  readonly until?: { readonly id: string; readonly status: TaskStatus } | undefined;
  /** Attempts after which something must be wrong, such as a task that inserts itself. Default 10,000. */
  readonly most?: number | undefined;
}

const mostRuns = 10_000;

/**
 * Runs a queue in tests, one attempt at a time and only when told to. It works on the real tables, by the statements of the
 * worker. The application's own worker must not run: give QueueModule `autoStart: false`. After {@link withoutDatabase} it
 * asserts what was inserted and runs one handler; the rest needs a database.
 *
 * @example
 * const tester = QueueTester.of(app);
 * await orders.place(order);
 * await tester.expectInserted({ topic: 'order-placed', payload: { id: order.id } });
 * await tester.drain();
 */
export class QueueTester {
  readonly #core: QueueBasis;
  readonly #access: TestAccess;
  readonly #stepper: Stepper;
  /** What handlers threw, by attempt. */
  readonly #thrown = new Map<string, unknown>();

  /** @internal */
  constructor(core: QueueBasis, assembly: QueueWorkerAssembly) {
    this.#core = core;
    this.#access = core.testAccess();
    this.#stepper = new Stepper(core, assembly);
    for (const event of ['task.failed', 'task.snoozed'] as const) {
      core.events.on(event, ({ task, error }) => this.#thrown.set(task.id, error));
    }
  }

  /**
   * @param app an application or testing module that was initialised
   * @param queue name of the queue, when there are several
   */
  static of(app: Pick<INestApplicationContext, 'get'>, queue: string = defaultQueueName): QueueTester {
    const core = app.get<QueueBasis>(getPartToken(queue, 'core'), { strict: false });
    const assembly = app.get<QueueWorkerAssembly>(getPartToken(queue, 'assembly'), { strict: false });
    return new QueueTester(core, assembly);
  }

  /**
   * What was inserted, oldest first: tasks and publications, whether they have run or not.
   *
   * @throws {TarefaError} `INPUT_INVALID` for a condition that does not exist
   */
  async inserted(
    match: InsertedMatch = {},
    {
      tx,
    }: {
      /** Reads inside that transaction, which then need not be committed. */
      readonly tx?: SqlHandle | undefined;
    } = {},
  ): Promise<readonly InsertedTask[]> {
    return (await this.#access.inserted(tx)).map(asInserted).filter(matcher(match));
  }

  /**
   * Asserts that exactly one task like that was inserted, and answers it.
   *
   * @throws {AssertionError} that shows what was inserted
   */
  async expectInserted(
    match: InsertedMatch,
    options: { readonly tx?: SqlHandle | undefined } = {},
  ): Promise<InsertedTask> {
    const all = await this.inserted({}, options);
    const [found, another] = all.filter(matcher(match));
    if (found && !another) return found;
    const actual = all.map(({ topic, data, externalKey, status }) => ({ topic, data, externalKey, status }));
    throw new AssertionError({
      message: `${found ? 'more than one' : 'no'} inserted task matches ${JSON.stringify(match)}; inserted ${
        all.length === 1 ? 'is' : 'are'
      } ${all.length}: ${JSON.stringify(actual)}`,
      actual,
      expected: match,
      operator: 'expectInserted',
    });
  }

  /**
   * Inserts a task and runs its handler once, as the queue would: decoded payload, context, enhancers, transaction,
   * completion. Other tasks that wait are left alone.
   */
  async run<Topic extends TopicName>(input: TaskInput<Topic>): Promise<TaskRun> {
    return this.#runHeld(await this.#insert(input));
  }

  /**
   * Makes one delivery for a subscription and runs its handler once. A subscription that is in the table comes
   * along as it stands there.
   *
   * @param publication what was published; without a topic it has the subscription's
   */
  async deliver(subscriptionId: string, publication: TaskInput): Promise<TaskRun> {
    const { payload, ...rest } = publication;
    const stored = await this.#access.subscription(subscriptionId);
    const topic = rest.topic ?? (stored?.['processo'] as string | undefined) ?? subscriptionId;
    const subscription = stored ?? { id: subscriptionId, processo: topic };
    const text = encodePayload(payload, this.#core.options.maxPayloadBytes);
    const id = await this.#insert({ ...rest, topic });
    return this.#runHeld(id, {
      subscriptionId,
      envelope: JSON.stringify({ publication: text, subscription }),
    });
  }

  /** Subscribes to a topic, unless that subscription is there: publications then make a delivery for it. */
  async subscribe(topic: string, subscriptionId: string): Promise<void> {
    await subscribe(this.#core.database, topic, subscriptionId);
  }

  /**
   * Runs what is due, one attempt after the other in the order a worker takes them, with what that inserts, until nothing
   * is left.
   *
   * @returns the attempts in the order they ran; publications count as one
   * @throws {AssertionError} when the end was not reached
   */
  async drain({ travel = false, until, most = mostRuns }: DrainOptions = {}): Promise<readonly TaskRun[]> {
    const runs: TaskRun[] = [];
    for (;;) {
      if (until && (await this.#stands(until))) break;
      if (runs.length >= most) {
        throw failed(`${most} attempts ran and there are more: does a task insert itself?`);
      }
      const claimed = await this.#stepper.step();
      if (claimed) runs.push(await this.#read(claimed.id));
      else if (!(travel && (await this.#travelToNext()))) {
        if (until) throw failed(await this.#describe(until));
        break;
      }
    }
    return runs;
  }

  /**
   * Moves time forward for everything in the queue: what is due by then is due now, and history is so much older. The
   * clock of the process stays.
   *
   * @example await tester.travel({ days: 61 });
   */
  async travel(duration: Duration): Promise<void> {
    await this.#access.travel(inMs(duration));
  }

  /** Deletes all tasks; subscriptions stay. */
  async clear(): Promise<void> {
    await this.#access.clear();
    this.#thrown.clear();
  }

  /** Outside of every transaction, whatever surrounds the test. */
  #insert(input: TaskInput): Promise<string> {
    const { database, options } = this.#core;
    return database.inserts.insert(encodeTask(input, false, options.maxPayloadBytes));
  }

  async #runHeld(id: string, delivery?: DeliveryParts): Promise<TaskRun> {
    await this.#access.hold(id, await this.#stepper.begin(), delivery);
    await this.#stepper.runHeld(id);
    return this.#read(id);
  }

  async #read(id: string): Promise<TaskRun> {
    const task = (await this.#access.attempts(id)).find((attempt) => attempt.id === id);
    if (!task) throw failed(`attempt ${id} is gone: did its handler delete it?`);
    return { task, thrown: this.#thrown.get(id) };
  }

  async #stands({ id, status }: NonNullable<DrainOptions['until']>): Promise<boolean> {
    const current = (await this.#access.attempts(id)).at(-1);
    if (!current) throw failed(`task ${id} not found`);
    return current.status === status;
  }

  async #describe({ id, status }: NonNullable<DrainOptions['until']>): Promise<string> {
    const current = (await this.#access.attempts(id)).at(-1);
    const hints: Partial<Record<string, string>> = {
      scheduled: ': it is due later, so pass travel: true',
      pending: ': no method of this application handles it, or it is paused',
    };
    const hint = hints[current?.status ?? ''] ?? '';
    return `nothing is left to run, but task ${id} is ${current?.status}, not ${status}${hint}`;
  }

  async #travelToNext(): Promise<boolean> {
    const dueInMs = await this.#stepper.nextDueInMs();
    if (dueInMs === undefined) return false;
    await this.#access.travel(Math.max(1, Math.ceil(dueInMs)));
    return true;
  }
}

/** Adds a subscription, unless it is there. */
async function subscribe(database: QueueDatabase, topic: string, id: string): Promise<void> {
  const admin = new SubscriptionAdmin(database.subscriptions, database.endpoints);
  await admin.add({ id, topic }).catch((error: unknown) => {
    if (!hasCode(error, 'SUBSCRIPTION_EXISTS')) throw error;
  });
}

function failed(message: string): AssertionError {
  return new AssertionError({ message });
}
