import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { QueueAdmin } from '../admin/queue-admin.js';
import { describeRoute, subscriptionRoute, topicRoute } from '../storage/route.js';
import { getQueueToken } from '../client/queue-tokens.js';
import { QueueWorker } from '../worker/queue-worker.js';

/** Less of the queue of notifications is always in use. */
const leastUsage = 0.01;

/** What a queue must be like to count as healthy. */
export interface QueueHealthOptions {
  /** Name of the queue, when there are several. */
  readonly queue?: string | undefined;
  /**
   * Unhealthy when a task has been due for longer and still waits: one that some running worker serves, or any while no
   * worker runs at all. Default: never.
   */
  readonly maxWaitingMs?: number | undefined;
  /**
   * True: unhealthy while tasks wait that no running worker serves. Default false: the result names them and stays up, as
   * to restart this process would not help. A process without a worker does not ask.
   */
  readonly failOnUnserved?: boolean | undefined;
  /** Unhealthy when the database takes longer to answer. Default 5 s. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A health indicator for `@nestjs/terminus`: the database answers, the worker of this process runs (where it has one) and has not
 * stood still for a minute, and no task waits for too long. Topics and subscriptions that wait while no running worker serves
 * them stand in `unserved`; `notifyUsage` is how full PostgreSQL's queue of notifications is (0 to 1), once that is a
 * hundredth. Provide it beside `TerminusModule`.
 *
 * @example
 * @HealthCheck()
 * check() {
 *   return this.health.check([() => this.queue.isHealthy('queue', { maxWaitingMs: 60_000 })]);
 * }
 */
@Injectable()
export class QueueHealthIndicator {
  readonly #health: HealthIndicatorService;
  readonly #modules: ModuleRef;

  constructor(
    @Inject(HealthIndicatorService) health: HealthIndicatorService,
    @Inject(ModuleRef) modules: ModuleRef,
  ) {
    this.#health = health;
    this.#modules = modules;
  }

  /** @param key under which the result stands */
  async isHealthy<const Key extends string>(
    key: Key,
    { queue, maxWaitingMs, failOnUnserved = false, timeoutMs = 5_000 }: QueueHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const indicator = this.#health.check(key);
    const worker = this.#modules.get<QueueWorker>(getQueueToken(queue, QueueWorker), { strict: false });
    const admin = this.#modules.get<QueueAdmin>(getQueueToken(queue, QueueAdmin), { strict: false });
    const facts = { worker: worker.enabled ? worker.state : 'none', running: worker.running };
    if (worker.enabled && worker.state !== 'running') {
      return indicator.down({ ...facts, message: `the worker is ${worker.state}` });
    }
    const { stalled } = worker;
    if (stalled) return indicator.down({ ...facts, message: `the worker takes no tasks: ${stalled.reason}` });
    const asked = Promise.all([
      maxWaitingMs === undefined ? admin.ping() : admin.hasWaited(maxWaitingMs),
      worker.enabled ? namesOf(admin) : [],
      admin.notifyUsage(),
    ]);
    const answer = await within(asked, timeoutMs).catch((error: unknown) => error as Error);
    if (answer instanceof Error) return indicator.down({ ...facts, message: answer.message });
    const [hasWaited, unserved, notifyUsage = 0] = answer;
    const all = {
      ...facts,
      ...(unserved.length === 0 ? {} : { unserved }),
      ...(notifyUsage < leastUsage ? {} : { notifyUsage }),
    };
    if (hasWaited === true)
      return indicator.down({ ...all, message: `a task has been waiting for more than ${maxWaitingMs} ms` });
    if (failOnUnserved && unserved.length > 0)
      return indicator.down({ ...all, message: `no running worker serves ${unserved.join(', ')}` });
    return indicator.up(all);
  }
}

/** What waits while no running worker serves it, in words. */
async function namesOf(admin: QueueAdmin): Promise<readonly string[]> {
  const unserved = await admin.unserved();
  return unserved.map(({ topic, subscriptionId }) =>
    describeRoute(subscriptionId === null ? topicRoute(topic) : subscriptionRoute(subscriptionId)),
  );
}

function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the database did not answer within ${ms} ms`)), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
