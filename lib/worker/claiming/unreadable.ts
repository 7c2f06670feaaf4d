import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { Claims, UnreadableAmong } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';

export interface UnreadableParts {
  readonly database: Pick<QueueDatabase, 'classify'>;
  readonly claims: Pick<Claims, 'endUnreadable'>;
  readonly events: QueueEvents;
  /** Called when dead chains were started, for which a worker has to be woken. */
  readonly buried: () => void;
}

/** Other workers end unreadable attempts too; a statement refused more often than that fails for another reason. */
const mostFruitless = 5;

/**
 * Goes on when the answer to a statement of the worker cannot be sent because some attempt holds bytes that are not text:
 * one row must not stop the queue. Such attempts fail, say why, and are buried; no worker could run them.
 */
export class Unreadable {
  readonly #parts: UnreadableParts;
  /** How many times in a row none was found. */
  #fruitless = 0;

  constructor(parts: UnreadableParts) {
    this.#parts = parts;
  }

  /**
   * Ends those among the demanded attempts. Answers whether the statement is worth another try: this worker has ended some, or, when
   * none is left, another one seems to have.
   */
  async end(error: unknown, among: UnreadableAmong): Promise<boolean> {
    if (this.#parts.database.classify(error) !== 'value') return false;
    const ended = await this.#parts.claims.endUnreadable(among);
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
