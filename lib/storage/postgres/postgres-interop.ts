import type { HeldTask, WorkerId } from '../attempt.js';
import { blamesRow } from '../error-kind.js';
import type { ForeignLocks, Interop } from '../interop.js';
import type { RowsApart } from '../rows-apart.js';
import { HeldTasks } from './held-tasks.js';
import { findForeignLocks } from './interop/foreign-locks.js';
import type { TaskLocks } from './interop/task-locks.js';
import { classifyError } from './postgres-errors.js';
import { rethrowConnectionError, type QueueAccess } from './queue-access.js';
import { RefusedRows } from './refused-rows.js';

/** {@link Interop} by session locks. */
export class PostgresInterop implements Interop {
  readonly #access: QueueAccess;
  readonly #locks: TaskLocks;
  readonly #apart: RowsApart;

  /** @param apart attempts that cannot be changed */
  constructor(access: QueueAccess, locks: TaskLocks, apart: RowsApart) {
    this.#access = access;
    this.#locks = locks;
    this.#apart = apart;
  }

  keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean> {
    return this.#locks.keep(workerId, held).catch(rethrowConnectionError);
  }

  findForeignLocks(): Promise<ForeignLocks> {
    return findForeignLocks(async () => (await this.#access.ask(this.#access.sql.clientServerSigns, []))[0]);
  }

  takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]> {
    const refused = new RefusedRows(this.#access, this.#apart);
    return this.#apart.around(
      () => new HeldTasks(this.#access).takeOver(workerId, limit, this.#apart.ids),
      async (error) => blamesRow(classifyError(error)) && refused.setForeignApart(limit, workerId),
    );
  }
}
