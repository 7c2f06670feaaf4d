import type { QueueDatabase } from '../../storage/database.js';
import type { WorkerId } from '../../storage/attempt.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import type { HandlerContext } from './handler-context.js';
import type { TaskGroup } from '../../storage/transactions.js';

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

/** Groups of one handler that run at once. */
const mostGroups = 4;
/** Tasks that have to wait before one more group is worth its COMMIT. */
const tasksPerGroup = 10;

interface Waiting {
  readonly context: HandlerContext;
  readonly tell: (begins: boolean) => void;
}

/**
 * The attempts of one grouped handler that wait for their turn, and the groups that take them. A group takes the
 * next one when the one before has ended, commits when none waits, and never waits for tasks to come.
 */
class GroupLine {
  readonly #workerId: WorkerId;
  readonly #database: Pick<QueueDatabase, 'transactions'>;
  #waiting = new Set<Waiting>();
  #groups = 0;

  constructor(workerId: WorkerId, database: Pick<QueueDatabase, 'transactions'>) {
    this.#workerId = workerId;
    this.#database = database;
  }

  /** Resolves when the attempt's turn has come, its context then a part of a group; with false when it is told to stop first. */
  join(context: HandlerContext): Promise<boolean> {
    return new Promise((resolve) => {
      const waiting: Waiting = { context, tell: resolve };
      this.#waiting.add(waiting);
      context.onAbort = () => {
        if (this.#waiting.delete(waiting)) resolve(false);
      };
      const isWorth = this.#waiting.size > this.#groups * tasksPerGroup;
      if (this.#groups < mostGroups && isWorth) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#groups += 1;
    while (this.#waiting.size > 0) {
      const group = this.#database.transactions.beginGroup(this.#workerId);
      await this.#fill(group);
      await group.commit();
    }
    this.#groups -= 1;
  }

  async #fill(group: TaskGroup): Promise<void> {
    for (let tasks = 0; tasks < group.most && !group.broken; tasks += 1) {
      const next = this.#takeNext();
      if (!next) return;
      const part = group.next();
      next.context.join(part);
      next.tell(true);
      await part.over;
    }
  }

  #takeNext(): Waiting | undefined {
    for (const first of this.#waiting) {
      this.#waiting.delete(first);
      first.context.onAbort = undefined;
      return first;
    }
    return undefined;
  }
}
