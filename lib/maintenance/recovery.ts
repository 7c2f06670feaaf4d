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
  /** True when the table may say of somebody that he is missing. */
  #noted = true;
  /** Workers that the last look missed and an earlier one had not, or not for long enough. */
  #unconfirmed = 0;
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
    const recovered = await this.look();
    if (this.#unconfirmed === 0) return recovered;
    await delay(this.#confirmMs);
    return recovered + (await this.look());
  }

  /** One look: recovers what was missing long enough, notes what is missing now. */
  async look(): Promise<number> {
    const { storage, coordinator, timing } = this.#parts;
    const missing = await coordinator.findLost(await storage.workersInUse());
    // What was missing before counts all the same: a server that restarts often must not stop recovery for good.
    if (!missing) return 0;
    this.#unconfirmed = 0;
    if (missing.length === 0 && !this.#noted) return 0;
    const lost = await storage.confirmLost(missing, timing.confirmMs);
    this.#noted = missing.length > 0;
    this.#unconfirmed = missing.length - lost.length;
    let recovered = 0;
    for (const id of lost) recovered += await this.#recover(id);
    if (recovered > 0) coordinator.ring({ later: true });
    return recovered;
  }

  async #lookIfLeading(): Promise<void> {
    // A slow look is not overtaken by the next one.
    if (this.#looking) return;
    this.#looking = this.#parts.coordinator.lead('recover').then((leads) => {
      if (leads) return this.look();
      // Whoever leads may write down what this one does not know of.
      this.#noted = true;
      return 0;
    });
    await this.#looking.catch((error: unknown) => {
      this.#parts.events.emit('routine.failed', { routine: 'recover', error });
    });
    this.#looking = undefined;
    this.#confirmLater();
  }

  /** So that a killed worker's tasks go on after one interval and one confirmation, whatever the two are. */
  #confirmLater(): void {
    if (this.#unconfirmed === 0 || !this.#timer || this.#confirming) return;
    this.#confirming = setTimeout(() => {
      this.#confirming = undefined;
      void this.#lookIfLeading();
    }, this.#confirmMs);
  }

  /** A moment more, so that the second look is not a moment too early. */
  get #confirmMs(): number {
    return this.#parts.timing.confirmMs + 10;
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
