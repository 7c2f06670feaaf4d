import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import type { PromoteResult } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WaitingRoute } from '../storage/waiting-route.js';
import type { UnservedWatch } from './unserved-watch.js';

const page = 1_000;

export interface NotifyRoutineParts {
  readonly database: QueueDatabase;
  readonly bell: Pick<Bell, 'ring'>;
  readonly liveness: Pick<Liveness, 'exclusively'>;
  readonly unserved: Pick<UnservedWatch, 'learn'>;
  /** A due task that is pending for longer counts as forgotten. */
  readonly overdueMs: number;
  /** True when workers take tasks, to fail them, of which they have not said that they serve them. */
  readonly takesUnknown: boolean;
}

/**
 * Promotes due scheduled tasks and rings for forgotten ones at its minutes: the safety net below the timer. It tells of
 * those without a worker. Where the queue has partitions, it makes those that are needed next.
 */
export class NotifyRoutine {
  readonly #parts: NotifyRoutineParts;

  /** @hidden */
  constructor(parts: NotifyRoutineParts) {
    this.#parts = parts;
  }

  /** Runs one round; answers how many tasks were promoted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    const { database, bell, liveness, unserved } = this.#parts;
    return liveness.exclusively('notify', async () => {
      const { promoted, isolated } = await this.#promoteAll();
      const waiting = await database.attempts.waitingRoutes();
      unserved.learn(waiting);
      const mustRing = promoted > 0 || waiting.some((one) => this.#isForgotten(one));
      // Only workers that are told to look, not just to claim, see what is to be run alone.
      if (mustRing) void bell.ring('tasks', { later: isolated, dueMs: 0 });
      await database.upkeep.prepareAhead();
      return promoted;
    });
  }

  #isForgotten({ waitingMs, served }: WaitingRoute): boolean {
    const { overdueMs, takesUnknown } = this.#parts;
    return waitingMs > overdueMs && (served || takesUnknown);
  }

  async #promoteAll(): Promise<Pick<PromoteResult, 'promoted' | 'isolated'>> {
    let all = 0;
    for (;;) {
      const { promoted, isolated } = await this.#parts.database.attempts.promote(page);
      all += promoted;
      if (promoted < page) return { promoted: all, isolated };
    }
  }
}
