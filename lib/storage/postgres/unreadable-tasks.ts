import { cleanMessage } from '../../values/stored-text.js';
import type { WorkerId } from '../attempt.js';
import { byHalves } from '../by-halves.js';
import type { UnreadableAmong } from '../claims.js';
import { readBoolean } from '../columns.js';
import { blamesRow } from '../error-kind.js';
import type { RowsApart } from '../rows-apart.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { peek } from './peek.js';
import type { TextRow } from './connections/control-connection.js';
import { classifyError } from './postgres-errors.js';
import { isDataError } from './readable-rows.js';
import type { QueueAccess } from './queue-access.js';

/** Looked at of every route when not even the names of the routes can be read. */
const ofEachRoute = 10;
const longestReason = 400;

/** Finds attempts that hold bytes which cannot be sent to any client, and ends them: fewer statements than attempts. */
export class UnreadableTasks {
  readonly #access: QueueAccess;
  readonly #apart: RowsApart;

  constructor(access: QueueAccess, apart: RowsApart) {
    this.#access = access;
    this.#apart = apart;
  }

  /** @param leftOut ids that claims leave out */
  async end(
    workerId: WorkerId,
    among: UnreadableAmong,
    leftOut: readonly string[],
  ): Promise<readonly UnreadableTask[]> {
    const ids =
      among === 'every route'
        ? await this.#ofEachRoute()
        : await peek(this.#access, workerId, among, leftOut);
    const { refused } = await byHalves(
      ids,
      (some) => this.#access.ask(this.#access.sql.readTexts, [some]),
      isDataError,
    );
    return this.#bury(
      refused.map(({ one: id, error }) => ({
        id,
        message: `cannot be read, so it was not run: ${(error as Error).message}`.slice(0, longestReason),
      })),
    );
  }

  async #ofEachRoute(): Promise<readonly string[]> {
    const rows = await this.#access.ask(this.#access.sql.pendingOfEachRoute, [ofEachRoute]);
    return rows.map((row) => String(row['id']));
  }

  /**
   * No claim can be answered as long as they wait: one whose dead task is refused ends without it and says so, and one that cannot
   * be changed at all is set apart.
   */
  async #bury(unreadable: readonly Unread[]): Promise<readonly UnreadableTask[]> {
    const buried: UnreadableTask[] = [];
    const bury = (some: readonly Unread[], withDeadTask: boolean) =>
      byHalves(
        some,
        async (part) => buried.push(...(await this.#buryAll(part, withDeadTask))),
        (error) => blamesRow(classifyError(error)),
      );
    const { refused } = await bury(unreadable, true);
    const alone = refused.map(({ one: { id, message }, error }) => ({
      id,
      message: cleanMessage(`${message}; its dead task was not inserted: ${(error as Error).message}`),
    }));
    const unchanged = (await bury(alone, false)).refused;
    this.#apart.add(unchanged.map(({ one: { id }, error }) => ({ id, route: undefined, error })));
    return buried;
  }

  async #buryAll(unreadable: readonly Unread[], withDeadTask: boolean): Promise<readonly UnreadableTask[]> {
    const values = [unreadable.map(({ id }) => id), unreadable.map(({ message }) => message), withDeadTask];
    return (await this.#access.ask(this.#access.sql.buryUnreadable, values)).map(readBuried);
  }
}

interface Unread {
  readonly id: string;
  /** Why it ends. */
  readonly message: string;
}

function readBuried(row: TextRow): UnreadableTask {
  return {
    id: String(row['id']),
    firstAttemptId: String(row['first_id']),
    attempt: Number(row['attempt']),
    dead: readBoolean(row['dead']),
    message: String(row['message']),
    deadId: row['dead_id'] ?? undefined,
  };
}
