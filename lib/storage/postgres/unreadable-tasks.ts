import type { WorkerId } from '../attempt.js';
import type { UnreadableAmong } from '../claims.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { fromTheFront } from '../claiming/claim-planner.js';
import { claimForm, claimValues } from './claims/claim-values.js';
import { settleValues } from './attempt-values.js';
import type { TextRow } from './connections/control-connection.js';
import { isDataError } from './readable-rows.js';
import type { QueueAccess } from './queue-access.js';
import { readBoolean } from '../columns.js';

/** Looked at of every route when not even the names of the routes can be read. */
const ofEachRoute = 10;
/** Looked at of dead attempts. */
const ofDead = 1_000;
const longestReason = 400;

/** Finds attempts that hold bytes which cannot be sent to any client, and ends them: fewer statements than attempts. */
export class UnreadableTasks {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  /** @param leftOut with interop, ids that claims leave out */
  async end(
    workerId: WorkerId,
    among: UnreadableAmong,
    leftOut: readonly string[] | undefined,
  ): Promise<readonly UnreadableTask[]> {
    const rows = await this.#peek(workerId, among, leftOut);
    const unreadable = await this.#find(rows.map((row) => String(row['id'])));
    return unreadable.size === 0 ? [] : this.#bury(unreadable);
  }

  #peek(
    workerId: WorkerId,
    among: UnreadableAmong,
    leftOut: readonly string[] | undefined,
  ): Promise<readonly TextRow[]> {
    if (among === 'every route') return this.#access.ask(this.#access.sql.pendingOfEachRoute, [ofEachRoute]);
    if (among === 'unattended') return this.#access.ask(this.#access.sql.pendingDead, [ofDead]);
    // After a failed claim the next one starts at the front too.
    const request = fromTheFront(among);
    const peek = this.#access.sql.peekClaim(claimForm(request, leftOut ? 'task' : 'row'));
    return this.#access.ask(peek, [...settleValues(workerId, []), ...claimValues(request, leftOut)]);
  }

  /** By halves: most can be read. Answers why, by id. */
  async #find(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    try {
      await this.#access.ask(this.#access.sql.readTexts, [ids]);
      return new Map();
    } catch (error) {
      if (!isDataError(error)) throw error;
      const [only, ...others] = ids;
      if (only !== undefined && others.length === 0) return new Map([[only, (error as Error).message]]);
      const half = Math.ceil(ids.length / 2);
      const first = await this.#find(ids.slice(0, half));
      return new Map([...first, ...(await this.#find(ids.slice(half)))]);
    }
  }

  async #bury(reasons: ReadonlyMap<string, string>): Promise<readonly UnreadableTask[]> {
    const messages = [...reasons.values()].map((reason) =>
      `cannot be read, so it was not run: ${reason}`.slice(0, longestReason),
    );
    const rows = await this.#access.ask(this.#access.sql.buryUnreadable, [[...reasons.keys()], messages]);
    return rows.map((row) => ({
      id: String(row['id']),
      firstAttemptId: String(row['first_id']),
      attempt: Number(row['attempt']),
      dead: readBoolean(row['dead']),
      message: String(row['message']),
      deadId: row['dead_id'] ?? undefined,
    }));
  }
}
