import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { Interop } from '../storage/interop.js';

/** How often the same is said again. */
const againMs = 60_000;

/**
 * Looks for workers of nsj-queue-lib in client-server mode, whose locks are not in the database: each kind takes what the
 * other one runs for abandoned. A worker refuses to start beside them; one that runs says so and leaves their tasks alone.
 */
export class ForeignLockWatch {
  readonly #interop: Interop | undefined;
  readonly #events: QueueEvents;
  #saidAt = -Infinity;

  constructor(interop: Interop | undefined, events: QueueEvents) {
    this.#interop = interop;
    this.#events = events;
  }

  /** @throws {TarefaError} `INTEROP_UNSAFE` */
  async refuse(): Promise<void> {
    if (!this.#interop) return;
    const { evidence, hiddenSessions } = await this.#interop.findForeignLocks();
    if (evidence !== undefined) {
      throw new TarefaError(
        'INTEROP_UNSAFE',
        `${found(evidence)}. Set CLIENT_SERVER_MODE=TRUE and SERVER_HOST here too, so that this worker locks in the same server, or stop them`,
      );
    }
    if (hiddenSessions === 0) return;
    const sessions = hiddenSessions === 1 ? '1 session' : `${hiddenSessions} sessions`;
    this.#events.emit('warning', {
      message:
        `interop: what ${sessions} of other roles are doing is hidden, so workers of nsj-queue-lib in client-server mode, ` +
        `which must not run beside this one, would go unnoticed. Grant pg_read_all_stats to this role so that they are noticed`,
    });
  }

  /** False while there are some; then says so, now and again. */
  async areAbsent(): Promise<boolean> {
    if (!this.#interop) return true;
    const { evidence } = await this.#interop.findForeignLocks();
    if (evidence === undefined) return true;
    if (performance.now() - this.#saidAt >= againMs) {
      this.#saidAt = performance.now();
      this.#events.emit('warning', {
        message: `${found(evidence)}. Their abandoned tasks are not recovered here while they are running, but their retry job runs this worker's tasks again. Point this worker at their server (CLIENT_SERVER_MODE=TRUE), or stop one kind of worker`,
      });
    }
    return false;
  }
}

function found(evidence: string): string {
  return `interop: workers of nsj-queue-lib are running in client-server mode (${evidence}); their locks are not in the database, so both kinds would run the same tasks`;
}
