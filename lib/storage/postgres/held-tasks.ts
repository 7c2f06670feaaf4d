import type { HeldTask, WorkerId } from '../attempt.js';
import { readHeldTask } from '../task-row.js';
import type { TextRow } from './connections/control-connection.js';
import { isDataError, readBytes } from './readable-rows.js';
import type { QueueAccess } from './queue-access.js';

/** Reads attempts that workers hold, also those with texts that cannot be sent: recovery must not stop at them. */
export class HeldTasks {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  /** @param lost for recovery: nothing of a worker that is missed no longer */
  async of(workerId: WorkerId, limit: number, lost: boolean): Promise<readonly HeldTask[]> {
    const values = [workerId, limit, lost];
    const rows = await this.#access.ask(this.#access.sql.readHeld, values).catch(async (error: unknown) => {
      if (!isDataError(error)) throw error;
      return textRows(await this.#access.ask(this.#access.sql.readHeldBytes, values));
    });
    return this.#read(rows, workerId);
  }

  /**
   * Makes attempts that a worker of nsj-queue-lib has left those of this one.
   *
   * @param apart attempts to leave out
   */
  async takeOver(workerId: WorkerId, limit: number, apart: readonly string[]): Promise<readonly HeldTask[]> {
    const taken = await this.#access.ask(this.#access.sql.takeOver, [workerId, limit, apart]);
    if (taken.length === 0) return [];
    const ids = taken.map((row) => String(row['id']));
    return this.#read(
      textRows(await this.#access.ask(this.#access.sql.readTakenBytes, [workerId, ids])),
      workerId,
    );
  }

  #read(rows: readonly TextRow[], workerId: WorkerId): readonly HeldTask[] {
    return rows.map((row) => readHeldTask(row, workerId, this.#access.identity));
  }
}

/** All columns were asked for as text. */
function textRows(rows: readonly TextRow[]): readonly TextRow[] {
  return rows.map(({ bytes, encoding }) => readBytes(String(bytes), String(encoding)) as TextRow);
}
