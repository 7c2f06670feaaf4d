import type { QueueDatabase } from '../../../storage/database.js';
import type { WorkerId } from '../../../storage/attempt.js';
import type { Handler } from '../../../subscribers/handler-registry.js';
import type { HandlerContext } from '../handler-context.js';
import { GroupLine } from './group-line.js';

/** Where the attempts of grouped handlers wait for their turn: one line per handler. */
export class GroupedTurns {
  readonly #workerId: WorkerId;
  readonly #database: Pick<QueueDatabase, 'transactions'>;
  readonly #lines = new Map<Handler, GroupLine>();

  constructor(workerId: WorkerId, database: Pick<QueueDatabase, 'transactions'>) {
    this.#workerId = workerId;
    this.#database = database;
  }

  /** Resolves at the attempt's turn; with false when it was told to stop before. */
  wait(handler: Handler, context: HandlerContext): Promise<boolean> {
    if (context.aborted) return Promise.resolve(false);
    return this.#lineOf(handler).join(context);
  }

  #lineOf(handler: Handler): GroupLine {
    let line = this.#lines.get(handler);
    if (!line) {
      line = new GroupLine(this.#workerId, this.#database);
      this.#lines.set(handler, line);
    }
    return line;
  }
}
