import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { QueueAdmin } from '../admin/queue-admin.js';
import { getQueueToken } from '../queue.tokens.js';
import { QueueWorker } from '../worker/queue-worker.js';

/** What a queue must be like to count as healthy. */
export interface QueueHealthOptions {
  /** Name of the queue, when there are several. */
  readonly queue?: string;
  /** Unhealthy when a task has been due for longer and still waits. Default: never. */
  readonly maxWaitingMs?: number;
  /** Unhealthy when the database takes longer to answer. Default 5 s. */
  readonly timeoutMs?: number;
}

/**
 * A health indicator for `@nestjs/terminus`: the database answers, the worker of this process runs (where it has one), and
 * no task waits for too long. Provide it beside `TerminusModule`.
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
    { queue, maxWaitingMs, timeoutMs = 5_000 }: QueueHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    const indicator = this.#health.check(key);
    const worker = this.#modules.get<QueueWorker>(getQueueToken(queue, QueueWorker), { strict: false });
    const admin = this.#modules.get<QueueAdmin>(getQueueToken(queue, QueueAdmin), { strict: false });
    const facts = { worker: worker.enabled ? worker.state : 'none', running: worker.running };
    if (worker.enabled && worker.state !== 'running') {
      return indicator.down({ ...facts, message: `the worker is ${worker.state}` });
    }
    const asked = maxWaitingMs === undefined ? admin.ping() : admin.hasWaited(maxWaitingMs);
    const answer = await within<unknown>(asked, timeoutMs).catch((error: unknown) => error as Error);
    if (answer instanceof Error) return indicator.down({ ...facts, message: answer.message });
    if (answer === true)
      return indicator.down({ ...facts, message: `a task has waited for more than ${maxWaitingMs} ms` });
    return indicator.up(facts);
  }
}

function within<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the database did not answer within ${ms} ms`)), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
