import { hostname } from 'node:os';
import { join } from 'node:path';
import { TarefaError } from '../../errors.js';
import type { Recovery } from '../../maintenance/recovery.js';
import type { ResolvedIsolation } from '../../options/isolation-options.js';
import type { ResolvedOptions } from '../../options/resolve-options.js';
import type { ClaimedTask, Route, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { plainRoute } from '../../storage/route.js';
import type { HandlerRegistry, HandlerRules, Limit } from '../../subscribers/handler-registry.js';
import { Backoff } from '../../timing/backoff.js';
import { within } from '../../timing/deadline.js';
import { failureMessage } from '../../values/failure-text.js';
import type { RunEnd } from '../running/run-handler.js';
import type { RunningTask } from '../running/running-tasks.js';
import { Child } from './child.js';
import { isolationFor, namesOf, refuseMissing, type ChildPoolParts } from './child-pool.js';
import { DetachedChild } from './detached-child.js';
import { sendable } from './messages.js';

export interface DetachedChildrenParts extends Pick<ChildPoolParts, 'queue' | 'events' | 'ring'> {
  readonly options: Pick<
    ResolvedOptions,
    'isolation' | 'connection' | 'interop' | 'table' | 'recoveryTiming'
  >;
  readonly database: Pick<QueueDatabase, 'attempts' | 'workers'>;
  readonly registry: HandlerRegistry;
  readonly recovery: Pick<Recovery, 'failEnded'>;
}

/** How long the application may take to close with which a start tries the module. */
const closeMs = 5_000;

/** How many attempts of a detached handler this worker may hold itself: the processes of others count. */
class DetachedLimit implements Limit {
  /** Processes of this worker that have taken their attempts over. */
  own = 0;
  /** Processes on this machine whose parents are gone. */
  orphans = 0;
  readonly #most: number;

  constructor({ concurrency }: HandlerRules) {
    this.#most = concurrency ?? 1;
  }

  get concurrency(): number {
    return Math.max(0, this.#most - this.own - this.orphans);
  }
}

/**
 * The processes of detached handlers: one for each attempt, which takes that over and outlives this worker. While this worker
 * lives it fails at once what a process leaves that has ended.
 */
export class DetachedChildren {
  readonly #parts: DetachedChildrenParts;
  readonly #limits = new Map<HandlerRules, DetachedLimit>();
  readonly #starting = new Set<DetachedChild>();
  /** What is failed for processes that have ended. */
  readonly #failing = new Set<Promise<void>>();
  readonly #backoff = new Backoff({ firstMs: 250, mostMs: 10_000 });
  #isolation: (ResolvedIsolation & { readonly outputDir: string }) | undefined;
  /** Tries the module at the start. */
  #trial: Child | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(parts: DetachedChildrenParts) {
    this.#parts = parts;
  }

  limitOf(rules: HandlerRules): DetachedLimit {
    const limit = this.#limits.get(rules) ?? new DetachedLimit(rules);
    this.#limits.set(rules, limit);
    return limit;
  }

  /**
   * Tries the module in a process, and counts what runs on this machine without its parent; without detached handlers nothing.
   *
   * @throws {TarefaError} `OPTIONS_INVALID` when the module cannot be used, or what its start raises
   */
  async start(): Promise<void> {
    const { registry, options, queue } = this.#parts;
    const handlers = registry.isolated('detached');
    if (handlers.length === 0) return;
    const isolation = isolationFor(handlers, options);
    const { outputDir } = isolation;
    if (outputDir === undefined)
      throw invalid(
        `${namesOf(handlers)} is detached: set isolation.outputDir, the directory for the output of its processes`,
      );
    if (options.interop)
      throw invalid(
        `${namesOf(handlers)} is detached, which does not work with interop: the worker's own session must lock the tasks it runs, and another process cannot`,
      );
    this.#trial = new Child('process', isolation, queue);
    try {
      refuseMissing(handlers, await this.#trial.ready, isolation);
    } finally {
      void this.#trial.close(closeMs);
    }
    await this.#countOrphans();
    this.#isolation = { ...isolation, outputDir };
    this.#countLater();
  }

  /** Starts a process for the attempt and resolves when that has taken it over, or has ended without. Never rejects. */
  async run(running: RunningTask, workerId: WorkerId): Promise<RunEnd> {
    const isolation = this.#isolation;
    if (!isolation || this.#closed) return { kind: 'not started' };
    const { queue } = this.#parts;
    const { claimed } = running;
    const output = join(isolation.outputDir, this.#nameOf(claimed));
    const order = { module: isolation.module.href, queue, parent: workerId, output };
    const child = new DetachedChild({ ...order, claimed: sendable(claimed) }, isolation.maxMemoryMb);
    running.context = child;
    this.#starting.add(child);
    const failure = await child.start();
    this.#starting.delete(child);
    void this.#follow(child, claimed, output, failure === undefined);
    if (failure !== undefined) return this.#goOnAfter(failure, child, claimed, workerId);
    this.#backoff.reset();
    return { kind: 'handed over' };
  }

  /** Ends processes that have taken nothing over; leaves the others alone. Idempotent. */
  async close(mostMs: number): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const trial = this.#trial?.close(mostMs);
    for (const child of this.#starting) child.kill();
    await within(Promise.all([trial, ...this.#failing]), mostMs);
  }

  /** Nothing of the handler has run, unless the process has taken the attempt over and ended before it said so. */
  async #goOnAfter(
    failure: Error,
    child: DetachedChild,
    claimed: ClaimedTask,
    workerId: WorkerId,
  ): Promise<RunEnd> {
    const { database, events } = this.#parts;
    const unknown = { kind: 'unknown', error: failure, recorded: undefined } as const;
    try {
      if ((await database.attempts.readOutcome(workerId, claimed)) !== 'held') return unknown;
    } catch {
      return unknown;
    }
    if (!child.aborted && !child.cameLate) {
      const why = failureMessage(failure);
      events.emit('warning', {
        message: `a process of detached handlers could not start and will be retried: ${why}`,
      });
      await child.pause(this.#backoff.next());
    }
    return { kind: 'not started' };
  }

  /** One file for each claim: what has run under an earlier one of the same attempt is told apart. */
  #nameOf({ id, reservation }: ClaimedTask): string {
    return `${encodeURIComponent(this.#parts.options.table)}-${id}-${reservation}.log`;
  }

  /** Counts a process until it has ended, and fails then what it holds. */
  async #follow(
    child: DetachedChild,
    claimed: ClaimedTask,
    output: string,
    hasTakenOver: boolean,
  ): Promise<void> {
    const { ring, events } = this.#parts;
    const limit = this.#limitOfRoute(claimed.route);
    if (hasTakenOver) {
      if (limit) limit.own += 1;
      events.emit('notice', {
        message: `task ${claimed.task.firstAttemptId} runs detached as worker ${child.workerId}, pid ${child.pid}; its output goes to ${output}`,
      });
    }
    const how = await child.exit;
    if (this.#closed || how === undefined) return;
    if (child.workerId !== undefined) await this.#fail(child.workerId, claimed, how);
    if (limit && hasTakenOver) limit.own -= 1;
    ring();
  }

  /** One limit holds for live and dead attempts of a route: undefined where no handler is registered. */
  #limitOfRoute(route: Route): DetachedLimit | undefined {
    const { live, dead } = this.#parts.registry.of(plainRoute(route));
    const handler = live ?? dead;
    return handler && this.limitOf(handler.rules);
  }

  /** What cannot be failed now is recovered when the lease of its worker ends. */
  async #fail(workerId: WorkerId, claimed: ClaimedTask, how: string): Promise<void> {
    const { events } = this.#parts;
    const failing = this.#failEnded(workerId, claimed, how).catch((error: unknown) => {
      events.emit('warning', {
        message: `the attempt of detached worker ${workerId} could not be failed and will be recovered when its lease ends: ${failureMessage(error)}`,
      });
    });
    this.#failing.add(failing);
    await failing;
    this.#failing.delete(failing);
  }

  /** What the process had sent may be committed after its end: its hand-over, its success. */
  async #failEnded(workerId: WorkerId, claimed: ClaimedTask, how: string): Promise<void> {
    const { database, recovery } = this.#parts;
    await database.attempts.readOutcome(workerId, claimed);
    await recovery.failEnded(workerId, how);
  }

  /** Parents stop and die at any time. */
  #countLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      void this.#countOrphans()
        .catch(() => undefined)
        .then(() => this.#countLater());
    }, this.#parts.options.recoveryTiming.intervalMs);
  }

  async #countOrphans(): Promise<void> {
    const { database, ring } = this.#parts;
    const counts = new Map<DetachedLimit, number>();
    for (const { route, parentPid } of await database.workers.detachedOn(hostname())) {
      // One that was killed is called lost only after a while.
      if (parentPid !== undefined && isRunning(parentPid)) continue;
      const limit = this.#limitOfRoute(route);
      if (limit) counts.set(limit, (counts.get(limit) ?? 0) + 1);
    }
    let isFreed = false;
    for (const limit of this.#limits.values()) {
      const orphans = counts.get(limit) ?? 0;
      isFreed ||= orphans < limit.orphans;
      limit.orphans = orphans;
    }
    if (isFreed) ring();
  }
}

/** True of another user's process as well. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function invalid(message: string): TarefaError {
  return new TarefaError('OPTIONS_INVALID', message);
}
