import { cleanMessage } from '../../values/failure-text.js';
import type { WorkerId } from '../attempt.js';
import type { UnreadableAmong } from '../claims.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { blamesRow } from '../error-kind.js';
import { fromTheFront } from '../claiming/claim-planner.js';
import { claimForm, claimValues } from './claims/claim-values.js';
import { settleValues } from './attempt-values.js';
import type { TextRow } from './connections/control-connection.js';
import { classifyError } from './postgres-errors.js';
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
    const ids = [...reasons.keys()];
    try {
      return await this.#end(ids, messages, true);
    } catch (error) {
      if (!blamesRow(classifyError(error))) throw error;
      // No claim can be answered as long as they wait: those whose dead task is refused end without one, and say so.
      return (await Promise.all(ids.map((id, index) => this.#buryAlone(id, messages[index] ?? '')))).flat();
    }
  }

  async #buryAlone(id: string, message: string): Promise<readonly UnreadableTask[]> {
    try {
      return await this.#end([id], [message], true);
    } catch (error) {
      if (!blamesRow(classifyError(error))) throw error;
      const why = `; its dead task was not inserted: ${cleanMessage((error as Error).message)}`;
      return this.#end([id], [cleanMessage(message + why)], false);
    }
  }

  async #end(
    ids: readonly string[],
    messages: readonly string[],
    withDeadTask: boolean,
  ): Promise<readonly UnreadableTask[]> {
    const { sql } = this.#access;
    const rows = await this.#access.ask(sql.buryUnreadable, [ids, messages, withDeadTask]);
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
