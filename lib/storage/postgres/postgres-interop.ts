import type { HeldTask, WorkerId } from '../attempt.js';
import type { ForeignLocks, Interop } from '../interop.js';
import { HeldTasks } from './held-tasks.js';
import { findForeignLocks } from './interop/foreign-locks.js';
import type { TaskLocks } from './interop/task-locks.js';
import { rethrowConnectionError, type QueueAccess } from './queue-access.js';

/** {@link Interop} by session locks. */
export class PostgresInterop implements Interop {
  readonly #access: QueueAccess;
  readonly #locks: TaskLocks;

  constructor(access: QueueAccess, locks: TaskLocks) {
    this.#access = access;
    this.#locks = locks;
  }

  keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean> {
    return this.#locks.keep(workerId, held).catch(rethrowConnectionError);
  }

  findForeignLocks(): Promise<ForeignLocks> {
    return findForeignLocks(async () => (await this.#access.ask(this.#access.sql.clientServerSigns, []))[0]);
  }

  takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]> {
    return new HeldTasks(this.#access).takeOver(workerId, limit);
  }
}
