import { Client } from 'pg';
import { DatabaseLocks, type NsjLockOwner, type NsjLocks } from './nsj-locks.js';
import { NsjTable, type NsjRow } from './nsj-table-access.js';

/** What a {@link NsjWorker} does with a task: statements on a connection of its own, in a transaction. */
export type NsjHandler = (task: NsjRow, connection: Client) => Promise<string>;

/** How a {@link NsjWorker} differs from the default. */
export interface NsjWorkerOptions {
  readonly table?: string;
  readonly maxAttempts?: number;
  /** Minutes that each further attempt waits longer. */
  readonly retryMinutes?: number;
  /** Where it locks. Default: in the database; in client-server mode in the server that workers share. */
  readonly locks?: NsjLocks;
}

/** Advisory locks of its jobs. */
const job = { retry: '1', notify: '3' } as const;

/**
 * A worker that sends what those of nsj-queue-lib send: it lists what is due, locks a task by its bare id, reads it again, marks it by its id in a commit of its own, runs it on another connection and writes its
 * end by the id alone. Values stand in the text of statements, as its driver writes them. Its jobs run when they are
 * told to.
 */
export class NsjWorker {
  readonly #url: string;
  readonly #handler: NsjHandler;
  readonly #main: Client;
  readonly #jobs: Client;
  readonly #access: NsjTable;
  readonly #options: Required<NsjWorkerOptions>;
  readonly #open = new Set<Client>();
  /** Tasks it has run, in order, with the number of the attempt. */
  readonly ran: string[] = [];

  private constructor(
    url: string,
    handler: NsjHandler,
    clients: readonly [Client, Client],
    options: Required<NsjWorkerOptions>,
  ) {
    this.#url = url;
    this.#handler = handler;
    [this.#main, this.#jobs] = clients;
    this.#options = options;
    this.#access = new NsjTable(options);
  }

  static async start(url: string, handler: NsjHandler, options: NsjWorkerOptions = {}): Promise<NsjWorker> {
    const clients = [new Client(url), new Client(url)] as const;
    for (const client of clients) {
      client.on('error', () => undefined);
      await client.connect();
    }
    const [work, jobs] = clients;
    const filled = {
      table: 'tasks',
      maxAttempts: 3,
      retryMinutes: 0,
      locks: new DatabaseLocks({ work, jobs }),
      ...options,
    };
    return new NsjWorker(url, handler, clients, filled);
  }

  /** Runs what is due, one after the other; returns how many. */
  async drain(): Promise<number> {
    let count = 0;
    for (const id of await this.#access.listDue(this.#main)) if (await this.#execute(id)) count += 1;
    return count;
  }

  /**
   * The notify job: lists what is due in full, then sets each to pending by its id. Returns false when another one holds
   * its lock.
   *
   * @param listed what happens between the list and its changes
   */
  async promote(listed: (ids: readonly string[]) => Promise<void> = async () => undefined): Promise<boolean> {
    return this.#underLock('jobs', job.notify, async () => {
      const ids = await this.#access.listScheduled(this.#jobs);
      await listed(ids);
      for (const id of ids) {
        await this.#jobs.query('begin');
        await this.#access.setStatus(this.#jobs, id, 'pendente');
        await this.#jobs.query('commit');
      }
      if (ids.length > 0) await this.#jobs.query(`notify ${this.#options.table}, ''`);
    });
  }

  /** The retry job; returns the tasks that it took for crashed. */
  async retryCrashed(): Promise<readonly string[]> {
    const crashed: string[] = [];
    await this.#underLock('jobs', job.retry, async () => {
      for (const item of await this.#access.listRunning(this.#jobs)) {
        await this.#underLock('jobs', item.id, async () => {
          const row = await this.#access.read(this.#jobs, item.id);
          if (row?.status !== 'processando') return;
          await this.#access.fail(this.#jobs, item, 'falha_processando', 'aborted abruptly');
          crashed.push(item.id);
        });
      }
    });
    return crashed;
  }

  /** As `kill -9` does it: every connection is gone, nothing was said. */
  kill(): void {
    this.#options.locks.cut();
    for (const client of [this.#main, this.#jobs, ...this.#open]) client.connection.stream.destroy();
  }

  async stop(): Promise<void> {
    for (const client of [this.#main, this.#jobs]) await client.end().catch(() => undefined);
  }

  async #execute(id: string): Promise<boolean> {
    let isRun = false;
    await this.#underLock('work', id, async () => {
      const row = await this.#access.read(this.#main, id);
      if (row?.status !== 'pendente') return;
      await this.#access.setStatus(this.#main, id, 'processando');
      isRun = true;
      await this.#run(row);
    });
    return isRun;
  }

  async #run(row: NsjRow): Promise<void> {
    this.ran.push(`${row.processo} ${row.tentativa}`);
    try {
      if (row.pub_sub && !row.dead) await this.#access.publish(this.#main, row);
      else await this.#handle(row);
    } catch (error) {
      await this.#main.query('rollback').catch(() => undefined);
      await this.#access.fail(this.#main, row, 'falha', String(error));
    }
  }

  async #handle(row: NsjRow): Promise<void> {
    const own = new Client(this.#url);
    own.on('error', () => undefined);
    this.#open.add(own);
    await own.connect();
    try {
      await own.query('begin');
      const message = await this.#handler(row, own);
      await this.#access.setStatus(own, row.id, 'sucesso', message);
      await own.query('commit');
    } finally {
      this.#open.delete(own);
      await own.end().catch(() => undefined);
    }
  }

  /** Returns false, and does nothing, when somebody else has the lock. */
  async #underLock(owner: NsjLockOwner, id: string, work: () => Promise<void>): Promise<boolean> {
    const { locks } = this.#options;
    if (!(await locks.tryLock(owner, id))) return false;
    try {
      await work();
      return true;
    } finally {
      await locks.unlock(owner, id);
    }
  }
}
