import type { Coordinator } from '../coordination/coordinator.js';
import type { PromoteResult, Storage } from '../storage/storage.js';
import type { WaitingRoute } from '../storage/waiting-route.js';
import type { UnservedWatch } from '../worker/claiming/unserved-watch.js';

const page = 1_000;

/** What a {@link NotifyRoutine} works with. */
export interface NotifyRoutineParts {
  readonly storage: Storage;
  readonly coordinator: Coordinator;
  readonly unserved: Pick<UnservedWatch, 'learn'>;
  /** A due task that is pending for longer counts as forgotten. */
  readonly overdueMs: number;
  /** True when workers take tasks, to fail them, of which they have not said that they serve them. */
  readonly takesUnknown: boolean;
}

/**
 * Promotes due scheduled tasks and rings for forgotten ones at its minutes: the safety net below the timer. It tells of
 * those that nobody serves. Where the queue has partitions, it makes those that are needed next.
 */
export class NotifyRoutine {
  readonly #parts: NotifyRoutineParts;

  /** @hidden */
  constructor(parts: NotifyRoutineParts) {
    this.#parts = parts;
  }

  /** Runs one round; answers how many tasks were promoted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    const { storage, coordinator, unserved } = this.#parts;
    return coordinator.exclusively('notify', async () => {
      const { promoted, isolated } = await this.#promoteAll();
      const waiting = await storage.waitingRoutes();
      unserved.learn(waiting);
      const mustRing = promoted > 0 || waiting.some((one) => this.#isForgotten(one));
      // Only workers that are told to look, not just to claim, see what is to be run alone.
      if (mustRing) coordinator.ring({ later: isolated, dueMs: 0 });
      await storage.makePartitions();
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
      const { promoted, isolated } = await this.#parts.storage.promote(page);
      all += promoted;
      if (promoted < page) return { promoted: all, isolated };
    }
  }
}
