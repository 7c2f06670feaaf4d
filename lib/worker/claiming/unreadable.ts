import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { Claims, UnreadableAmong } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { blamesRow } from '../../storage/error-kind.js';
import type { Loop } from '../agenda.js';

/** Other workers end such attempts too; a statement refused more often than that fails for another reason. */
const mostFruitless = 5;

/**
 * Goes on when one row would stop the queue. Attempts that hold bytes which are not text, so that no answer with them can be sent,
 * fail, say why, and are buried; no worker could run them. Attempts that a constraint or a trigger of the user's does not let
 * change are left out.
 */
export class Unreadable {
  readonly #database: Pick<QueueDatabase, 'classify'>;
  readonly #claims: Pick<Claims, 'endUnreadable' | 'setApart'>;
  readonly #events: QueueEvents;
  readonly #loop: Pick<Loop, 'look'>;
  /** How many times in a row none was found. */
  #fruitless = 0;

  constructor(
    database: Pick<QueueDatabase, 'classify'>,
    claims: Pick<Claims, 'endUnreadable' | 'setApart'>,
    events: QueueEvents,
    loop: Pick<Loop, 'look'>,
  ) {
    this.#database = database;
    this.#claims = claims;
    this.#events = events;
    this.#loop = loop;
  }

  /**
   * Ends those among the demanded attempts, or sets them apart. Returns whether the statement is worth another try: this worker has
   * found some, or, when none is left, another one seems to have.
   */
  async end(error: unknown, among: UnreadableAmong): Promise<boolean> {
    const kind = this.#database.classify(error);
    if (!blamesRow(kind)) return false;
    const ended = kind === 'value' ? await this.#claims.endUnreadable(among) : [];
    for (const { message, deadId, ...rest } of ended) {
      const task = { ...rest, topic: null, subscriptionId: null };
      const reason = new TarefaError('TASK_UNREADABLE', message);
      this.#events.emit('task.failed', { task, message, error: reason, nextAttemptInMs: undefined });
      if (deadId !== undefined) this.#events.emit('task.buried', { task, deadId });
      this.#events.emit('warning', { message: `task ${rest.firstAttemptId} ${message}` });
    }
    // Dead chains were started, which need a worker.
    if (ended.some(({ deadId }) => deadId !== undefined)) this.#loop.look();
    const isFound = ended.length > 0 || (among !== 'every route' && (await this.#claims.setApart(among)));
    this.#fruitless = isFound ? 0 : this.#fruitless + 1;
    return this.#fruitless <= mostFruitless;
  }
}
