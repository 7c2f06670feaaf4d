import type { Bell } from '../coordination/bell.js';
import { WalkPace } from '../timing/walk-pace.js';
import { TarefaError } from '../errors.js';
import { reference, type QueueEvents } from '../events.js';
import type { HeldTask, NextDue, Route, StandingClaim, WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { releaseClaims } from '../storage/release-claims.js';
import { unknownAtOnce } from '../storage/waiting-route.js';
import type { RunningTask, RunningTasks } from './running/running-tasks.js';
import type { ServedRoutes } from './claiming/routes.js';
import { isolatedRange, keyedRange, plainRoute } from '../storage/route.js';
import type { RouteRange } from '../storage/waiting-route.js';
import { failureMessage } from '../values/failure-text.js';
import { claimKey } from './running/refused-outcomes.js';
import type { Settler } from './running/settler.js';

export interface ReconcilerParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'classify'>;
  readonly bell: Pick<Bell, 'ring'>;
  readonly settler: Pick<Settler, 'knows'>;
  readonly served: Pick<ServedRoutes, 'own' | 'unknownRanges' | 'dead' | 'hasLive' | 'learn'>;
  readonly events: QueueEvents;
}

/** Rows compared with memory: more than a worker can hold. */
const heldPage = 20_000;

/**
 * Compares what the table says a worker holds with what it knows. Unknown rows come from a claim whose answer was lost, and
 * are given back. Tasks that run here though the table says otherwise were recovered by another worker: they are told to
 * stop, and their transactions are cut, which may be waiting for a network that is gone. Those that were cancelled are told as well.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #pace = new WalkPace(0);
  readonly #workerId: WorkerId;
  /** The last unknown route that was told; undefined when all were. */
  #passed: Route | undefined;
  /** Rows that cannot be given back, each said once. */
  readonly #told = new Set<string>();
  /** Comparisons still due with all that the table says, whatever they take. */
  #fullComparisons = 0;

  constructor(workerId: WorkerId, parts: ReconcilerParts) {
    this.#workerId = workerId;
    this.#parts = parts;
  }

  /** True when no connection was lost since the last two comparisons. */
  get isSure(): boolean {
    return this.#fullComparisons === 0;
  }

  /** A connection was lost: all is compared twice, as its last statement may commit after the first time. */
  requireFull(): void {
    this.#fullComparisons = 2;
  }

  /** What an idle worker asks before it compares: of what it serves, whatever else waits. */
  async nextDue(): Promise<NextDue> {
    const { database, served } = this.#parts;
    const live = served.own.filter(({ only }) => only !== 'dead');
    const own = live.map(({ route }) => keyedRange(route));
    const awaited = {
      ranges: [...own, ...own.map(isolatedRange)],
      deadRoutes: served.dead,
      unknown: this.#unknown(),
    };
    const next = await (this.#pace.due
      ? this.#pace.walk(() => database.attempts.nextDue(this.#workerId, true, awaited))
      : database.attempts.nextDue(this.#workerId, false, awaited));
    this.#passed = next.pending.length < unknownAtOnce ? undefined : next.pending.at(-1);
    return (await this.#wants(next.pending)) ? { ...next, inMs: Math.min(0, next.inMs ?? 0) } : next;
  }

  /** Where unknown routes are asked for: behind those of the last time, when there were too many. */
  #unknown(): readonly RouteRange[] {
    const { unknownRanges } = this.#parts.served;
    const all = [...unknownRanges.map(isolatedRange), ...unknownRanges];
    const passed = this.#passed;
    if (passed === undefined) return all;
    return all.flatMap((range) => {
      if (range.below <= passed) return [];
      return [range.from < passed ? { ...range, from: passed } : range];
    });
  }

  /** True when live attempts of some of these routes, which have pending ones, are this worker's to claim. */
  async #wants(pending: readonly Route[]): Promise<boolean> {
    if (pending.length === 0) return false;
    const { served } = this.#parts;
    const plain = pending.map(plainRoute);
    await served.learn(plain);
    return plain.some((route) => served.hasLive(route));
  }

  /**
   * While finding all that is held takes long, only what runs here is asked for, by its keys.
   *
   * @param running the worker's own record, which changes while the table is read
   */
  async compare(running: RunningTasks): Promise<void> {
    const { database, settler } = this.#parts;
    const before = running.all();
    const ids = before.map(({ claimed }) => claimed.id);
    const standing = ids.length === 0 ? [] : await database.attempts.standing(this.#workerId, ids);
    this.#stop(before, standing, running);
    if (this.isSure && !this.#pace.due) return;
    const held = await this.#pace.walk(() => database.attempts.heldBy(this.#workerId, heldPage));
    this.#fullComparisons = Math.max(0, this.#fullComparisons - 1);
    await this.#release(held.filter(({ id }) => !running.has(id) && !settler.knows(id)));
  }

  #stop(before: readonly RunningTask[], standing: readonly StandingClaim[], running: RunningTasks): void {
    const claims = new Map(standing.map((claim) => [claimKey(claim), claim]));
    for (const task of before) {
      const { claimed, context } = task;
      if (!running.includes(task)) continue;
      const claim = claims.get(claimKey(claimed));
      // Word of that is on its way, from a child perhaps; or the handler goes on with something else.
      if (claim?.completed) continue;
      if (claim?.cancelled) {
        context?.abort(
          new TarefaError('TASK_CANCELLED', `task ${claimed.task.firstAttemptId} was cancelled`),
        );
      }
      if (claim) continue;
      context?.destroy(
        new TarefaError('TASK_LOST', `attempt ${claimed.id} was given to another worker meanwhile`),
      );
    }
  }

  async #release(unknown: readonly HeldTask[]): Promise<void> {
    if (unknown.length === 0) return;
    const { database, bell, events } = this.#parts;
    const { released, refused } = await releaseClaims(database, this.#workerId, unknown);
    for (const [id, error] of refused) this.#tellRefused(id, error);
    for (const one of unknown) {
      if (!released.has(one.id)) continue;
      events.emit('task.released', { task: reference(one), reason: 'its claim was never answered' });
    }
    if (released.size > 0) void bell.ring('tasks', { dueMs: 0 });
  }

  #tellRefused(id: string, error: unknown): void {
    if (this.#told.has(id)) return;
    this.#told.add(id);
    const text = `Attempt ${id}, whose claim was never answered, cannot be given back: ${failureMessage(error)}`;
    this.#parts.events.emit('warning', { message: `${text}. It stays as it is and will be retried` });
  }
}
