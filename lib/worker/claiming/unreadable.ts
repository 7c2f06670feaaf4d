import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { WorkerId } from '../../storage/attempt.js';
import type { UnreadableAmong } from '../../storage/unreadable-task.js';

/** What {@link Unreadable} works with. */
export interface UnreadableParts {
  readonly database: QueueDatabase;
  readonly events: QueueEvents;
  /** Told when dead chains were started, which somebody has to treat. */
  readonly buried: () => void;
}

/** Other workers end what this one meets, too; what is refused more often than that is something else. */
const mostFruitless = 5;

/**
 * What goes on when the answer to a statement of the worker cannot be sent, because some attempt holds bytes that are no
 * text: one row must not stop the queue. Such attempts fail, say why, and are buried; nobody could run them.
 */
export class Unreadable {
  readonly #parts: UnreadableParts;
  /** Times in a row that none was found. */
  #fruitless = 0;

  constructor(parts: UnreadableParts) {
    this.#parts = parts;
  }

  /**
   * Ends those among what was asked for. Answers whether that is worth another try: some were ended, by this worker or, as
   * it seems when there are none any more, by another one.
   */
  async end(error: unknown, workerId: WorkerId, among: UnreadableAmong): Promise<boolean> {
    if (this.#parts.database.classify(error) !== 'value') return false;
    const ended = await this.#parts.database.claims.endUnreadable(workerId, among);
    for (const { message, deadId, ...rest } of ended) {
      const task = { ...rest, topic: null, subscriptionId: null };
      const reason = new TarefaError('TASK_UNREADABLE', message);
      this.#parts.events.emit('task.failed', { task, message, error: reason, nextAttemptInMs: undefined });
      if (deadId !== undefined) this.#parts.events.emit('task.buried', { task, deadId });
      this.#parts.events.emit('warning', { message: `task ${rest.firstAttemptId} ${message}` });
    }
    if (ended.some(({ deadId }) => deadId !== undefined)) this.#parts.buried();
    this.#fruitless = ended.length > 0 ? 0 : this.#fruitless + 1;
    return this.#fruitless <= mostFruitless;
  }
}
