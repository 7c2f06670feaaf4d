import { setTimeout as delay } from 'node:timers/promises';
import type { Coordinator } from '../coordination/coordinator.js';
import { TarefaError } from '../queue.errors.js';
import type { QueueEvents } from '../queue.events.js';
import type { Failure, HeldTask, Storage, WorkerId } from '../storage/storage.js';
import type { HandlerRegistry } from '../subscribers/handler-registry.js';
import { failureDetail } from '../worker/outcome.js';
import { reference } from '../worker/settler.js';
import type { RecoveryOptions, WorkerOptions } from '../worker/worker-options.js';

/** What {@link Recovery} works with. */
export interface RecoveryParts {
  readonly storage: Storage;
  readonly coordinator: Coordinator;
  readonly registry: HandlerRegistry;
  readonly options: WorkerOptions;
  /** How sure one must be, also when the interval is switched off. */
  readonly timing: RecoveryOptions;
  readonly events: QueueEvents;
}

const page = 500;

/**
 * Fails the attempts of workers that are gone, so that their next ones start at once. One worker of the fleet
 * looks, every few seconds; a worker counts as gone when two looks, some time apart, miss its lock.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  /** When each missing worker was first missed, by this process's monotonic clock. */
  readonly #missing = new Map<WorkerId, number>();
  #timer: NodeJS.Timeout | undefined;
  /** The second look: not at the next round, which may come a moment too soon to count. */
  #confirming: NodeJS.Timeout | undefined;
  #looking: Promise<number> | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  start(): void {
    if (!this.#parts.options.recovery) return;
    this.#timer = setInterval(() => void this.#lookIfLeading(), this.#parts.timing.intervalMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#confirming);
    this.#timer = undefined;
    await this.#looking?.catch(() => 0);
  }

  /** Two looks, far enough apart: for the retry routine. Answers how many attempts were recovered. */
  async round(): Promise<number> {
    await this.look();
    if (this.#missing.size === 0) return 0;
    await delay(this.#parts.timing.confirmMs);
    return this.look();
  }

  /** One look: recovers what was missing long enough, notes what is missing now. */
  async look(): Promise<number> {
    const { storage, coordinator } = this.#parts;
    const lost = await coordinator.findLost(await storage.workersInUse());
    // What was missing before counts all the same: a server that restarts often must not stop recovery for good.
    if (!lost) return 0;
    const now = performance.now();
    for (const id of this.#missing.keys()) if (!lost.includes(id)) this.#missing.delete(id);
    let recovered = 0;
    for (const id of lost) {
      const since = this.#missing.get(id);
      if (since === undefined) this.#missing.set(id, now);
      else if (now - since >= this.#parts.timing.confirmMs) recovered += await this.#recover(id);
    }
    if (recovered > 0) coordinator.ring({ later: true });
    return recovered;
  }

  async #lookIfLeading(): Promise<void> {
    // A slow look is not overtaken by the next one.
    if (this.#looking) return;
    this.#looking = this.#parts.coordinator.lead('recover').then((leads) => (leads ? this.look() : 0));
    await this.#looking.catch((error: unknown) => {
      this.#parts.events.emit('routine.failed', { routine: 'recover', error });
    });
    this.#looking = undefined;
    this.#confirmLater();
  }

  /** So that a killed worker's tasks go on after one interval and one confirmation, whatever the two are. */
  #confirmLater(): void {
    clearTimeout(this.#confirming);
    if (this.#missing.size === 0 || !this.#timer) return;
    const oldest = Math.min(...this.#missing.values());
    const wait = Math.max(0, oldest + this.#parts.timing.confirmMs - performance.now());
    // A worker whose rows somebody has locked stays missing: the rounds look at it again.
    if (wait === 0) return;
    this.#confirming = setTimeout(() => void this.#lookIfLeading(), Math.ceil(wait));
  }

  async #recover(workerId: WorkerId): Promise<number> {
    const { storage } = this.#parts;
    let recovered = 0;
    for (;;) {
      const held = await storage.readHeld(workerId, page);
      if (held.length === 0) break;
      const outcomes = await storage.fail(held.map((task) => this.#failureOf(task)));
      recovered += outcomes.length;
      this.#report(held, new Set(outcomes.map(({ id }) => id)));
      // Rows that somebody has locked are left for the next look.
      if (outcomes.length < held.length) return recovered;
    }
    await storage.retireWorker(workerId);
    this.#missing.delete(workerId);
    return recovered;
  }

  #failureOf(held: HeldTask): Failure {
    const { live, dead } = this.#parts.registry.of(held.route);
    const rules = (held.task.dead ? dead : live)?.rules;
    const error = new TarefaError(
      'WORKER_LOST',
      `worker ${held.workerId} was lost: the attempt was aborted abruptly`,
    );
    return {
      id: held.id,
      reservation: held.reservation,
      workerId: held.workerId,
      message: error.message,
      error: failureDetail(error.message),
      maxAttempts: rules?.maxAttempts ?? this.#parts.options.maxAttempts,
      next: { kind: 'after-failure', delayMs: 0 },
      lost: true,
    };
  }

  #report(held: readonly HeldTask[], written: ReadonlySet<string>): void {
    for (const one of held) {
      if (!written.has(one.id)) continue;
      this.#parts.events.emit('task.recovered', { task: reference(one), workerId: one.workerId });
    }
  }
}
