import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { PromoteResult } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WaitingRoute } from '../storage/waiting-route.js';
import type { UnservedWatch } from './unserved-watch.js';

const page = 1_000;

/**
 * Promotes due scheduled tasks and rings for forgotten ones at its minutes: the safety net below the timer. It tells of
 * those without a worker. Where the queue has partitions, it makes those that are needed next.
 */
export class NotifyRoutine {
  readonly #database: QueueDatabase;
  readonly #bell: Pick<Bell, 'ring'>;
  readonly #liveness: Pick<Liveness, 'exclusively'>;
  readonly #unserved: Pick<UnservedWatch, 'learn'>;
  readonly #options: Pick<ResolvedOptions, 'waitNotifyIntervalSeconds' | 'unknownTasks'>;

  /** @hidden */
  constructor(
    database: QueueDatabase,
    bell: Pick<Bell, 'ring'>,
    liveness: Pick<Liveness, 'exclusively'>,
    unserved: Pick<UnservedWatch, 'learn'>,
    options: Pick<ResolvedOptions, 'waitNotifyIntervalSeconds' | 'unknownTasks'>,
  ) {
    this.#database = database;
    this.#bell = bell;
    this.#liveness = liveness;
    this.#unserved = unserved;
    this.#options = options;
  }

  /** Runs one round; returns how many tasks were promoted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#liveness.exclusively('notify', async () => {
      const { promoted, isolated } = await this.#promoteAll();
      const waiting = await this.#database.attempts.waitingRoutes();
      this.#unserved.learn(waiting);
      const mustRing = promoted > 0 || waiting.some((one) => this.#isForgotten(one));
      // Only workers that are told to look, not just to claim, see what is to be run alone.
      if (mustRing) void this.#bell.ring('tasks', { later: isolated, dueMs: 0 });
      await this.#database.upkeep.prepareAhead();
      return promoted;
    });
  }

  /** It is due for too long, and some worker takes it: where they fail what they do not know, each takes all. */
  #isForgotten({ waitingMs, served }: WaitingRoute): boolean {
    const { waitNotifyIntervalSeconds, unknownTasks } = this.#options;
    return waitingMs > waitNotifyIntervalSeconds * 1_000 && (served || unknownTasks === 'fail');
  }

  async #promoteAll(): Promise<Pick<PromoteResult, 'promoted' | 'isolated'>> {
    let all = 0;
    for (;;) {
      const { promoted, isolated } = await this.#database.attempts.promote(page);
      all += promoted;
      if (promoted < page) return { promoted: all, isolated };
    }
  }
}
