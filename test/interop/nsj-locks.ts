import type { Client } from 'pg';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';

/** Whose lock it is: the worker's for a task that it runs, or one of its jobs'. They have a connection each. */
export type NsjLockOwner = 'work' | 'jobs';

/** Where a worker of nsj-queue-lib locks. */
export interface NsjLocks {
  tryLock(owner: NsjLockOwner, id: string): Promise<boolean>;
  unlock(owner: NsjLockOwner, id: string): Promise<void>;
  /** Ends what they go through, as it ends with the process. */
  cut(): void;
}

/** In the database, by the bare id. */
export class DatabaseLocks implements NsjLocks {
  readonly #clients: Readonly<Record<NsjLockOwner, Client>>;

  constructor(clients: Readonly<Record<NsjLockOwner, Client>>) {
    this.#clients = clients;
  }

  async tryLock(owner: NsjLockOwner, id: string): Promise<boolean> {
    const { rows } = await this.#clients[owner].query<{ lock: boolean }>(
      `SELECT pg_try_advisory_lock(${id}) as lock`,
    );
    return rows[0]?.lock === true;
  }

  async unlock(owner: NsjLockOwner, id: string): Promise<void> {
    await this.#clients[owner].query(`SELECT pg_advisory_unlock(${id})`).catch(() => undefined);
  }

  cut(): void {}
}

/** In a server that nothing of this library sees. */
export class UnseenLocks implements NsjLocks {
  readonly #held = new Set<string>();

  async tryLock(_owner: NsjLockOwner, id: string): Promise<boolean> {
    if (this.#held.has(id)) return false;
    this.#held.add(id);
    return true;
  }

  async unlock(_owner: NsjLockOwner, id: string): Promise<void> {
    this.#held.delete(id);
  }

  cut(): void {}
}

/** In the server of the client-server mode: the worker's through the port where it is woken, its jobs' through the other one. */
export class ServerLocks implements NsjLocks {
  readonly #sockets: Readonly<Record<NsjLockOwner, NsjSocket>>;

  private constructor(sockets: Readonly<Record<NsjLockOwner, NsjSocket>>) {
    this.#sockets = sockets;
  }

  /** Connects; closed when the test ends. */
  static async open(ports: { readonly notifyPort: number; readonly lockPort: number }): Promise<ServerLocks> {
    const [work, jobs] = [await NsjSocket.open(ports.notifyPort), await NsjSocket.open(ports.lockPort)];
    return new ServerLocks({ work, jobs });
  }

  /** Where the server wakes the worker. */
  get notified(): NsjSocket {
    return this.#sockets.work;
  }

  async tryLock(owner: NsjLockOwner, id: string): Promise<boolean> {
    return (await this.#sockets[owner].call(`try_lock(${id})`)) === 'True';
  }

  async unlock(owner: NsjLockOwner, id: string): Promise<void> {
    await this.#sockets[owner].call(`release_lock(${id})`);
  }

  cut(): void {
    for (const socket of Object.values(this.#sockets)) socket.cut();
  }
}
