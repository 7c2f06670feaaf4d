import type { Coordinator } from '../coordination/coordinator.js';
import type { PromoteResult, Storage } from '../storage/storage.js';

const page = 1_000;

/**
 * Promotes due scheduled tasks and rings for forgotten ones at its minutes: the safety net below the timer. Where the
 * queue has partitions, it makes those that are needed next.
 */
export class NotifyRoutine {
  readonly #storage: Storage;
  readonly #coordinator: Coordinator;
  readonly #overdueMs: number;

  /** @param overdueMs a due task that is pending for longer counts as forgotten */
  constructor(storage: Storage, coordinator: Coordinator, overdueMs: number) {
    this.#storage = storage;
    this.#coordinator = coordinator;
    this.#overdueMs = overdueMs;
  }

  /** Runs one round; answers how many tasks were promoted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#coordinator.exclusively('notify', async () => {
      const { promoted, isolated } = await this.#promoteAll();
      const mustRing = promoted > 0 || (await this.#storage.hasOverdue(this.#overdueMs));
      // Only workers that are told to look, not just to claim, see what is to be run alone.
      if (mustRing) this.#coordinator.ring({ later: isolated, dueMs: 0 });
      await this.#storage.makePartitions();
      return promoted;
    });
  }

  async #promoteAll(): Promise<Pick<PromoteResult, 'promoted' | 'isolated'>> {
    let all = 0;
    for (;;) {
      const { promoted, isolated } = await this.#storage.promote(page);
      all += promoted;
      if (promoted < page) return { promoted: all, isolated };
    }
  }
}
