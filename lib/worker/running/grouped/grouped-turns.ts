import type { QueueDatabase } from '../../../storage/database.js';
import type { WorkerId } from '../../../storage/attempt.js';
import type { Handler } from '../../../subscribers/handler-registry.js';
import type { HandlerContext } from '../handler-context.js';
import { GroupLine } from './group-line.js';

/** Where the attempts of grouped handlers wait for their turn: one line per handler. */
export class GroupedTurns {
  readonly #database: QueueDatabase;
  readonly #lines = new Map<Handler, GroupLine>();
  #workerId: WorkerId = '';

  constructor(database: QueueDatabase) {
    this.#database = database;
  }

  start(workerId: WorkerId): void {
    this.#workerId = workerId;
  }

  /** Resolves at the attempt's turn; with false when it was told to stop before. */
  wait(handler: Handler, context: HandlerContext): Promise<boolean> {
    if (context.aborted) return Promise.resolve(false);
    return this.#lineOf(handler).join(context);
  }

  #lineOf(handler: Handler): GroupLine {
    let line = this.#lines.get(handler);
    if (!line) {
      line = new GroupLine(this.#database, this.#workerId);
      this.#lines.set(handler, line);
    }
    return line;
  }
}
