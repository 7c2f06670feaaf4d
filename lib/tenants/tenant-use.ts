import type { Task } from '../task.js';
import type { TenantDb } from '../storage/tenant-db.js';
import { usedAfterEnd } from './tenant-error.js';
import type { TenantHandle } from './tenant-handle.js';

/** Where attempts get the databases of their tenants from. */
export interface TenantSource {
  /** @throws {TarefaError} when there is none, `TENANT_UNAVAILABLE` when it cannot be used */
  open(task: Pick<Task, 'key' | 'dead' | 'tenant'>): Promise<TenantHandle>;
}

/** One attempt's use of its tenant's database: at most one connection, from the first call until the handler's end. */
export class TenantUse {
  readonly #source: TenantSource;
  readonly #task: Task;
  #opening: Promise<TenantHandle> | undefined;
  #handle: TenantHandle | undefined;
  #hasEnded = false;

  constructor(source: TenantSource, task: Task) {
    this.#source = source;
    this.#task = task;
  }

  open(): Promise<TenantDb> {
    this.#opening ??= this.#open();
    // A handler that forgets to wait for it must not end the process.
    this.#opening.catch(() => undefined);
    return this.#opening;
  }

  /** The handler has returned. Rejects when it left something open there. */
  async finish(): Promise<void> {
    this.#hasEnded = true;
    await this.#handle?.finish();
  }

  /** The handler has failed. */
  quit(): void {
    this.#hasEnded = true;
    this.#handle?.quit();
  }

  /** The attempt is over, and its handler may go on. */
  abandon(reason: Error): void {
    this.#hasEnded = true;
    this.#handle?.abandon(reason);
  }

  async #open(): Promise<TenantHandle> {
    if (this.#hasEnded) throw usedAfterEnd();
    const handle = await this.#source.open(this.#task);
    if (this.#hasEnded) {
      handle.quit();
      throw usedAfterEnd();
    }
    return (this.#handle = handle);
  }
}
