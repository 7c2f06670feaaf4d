import { Client, type ClientConfig } from 'pg';
import { ownTypes } from './own-pool.js';
import type { Reach } from './connection-config.js';

export interface OwnedConnectionParts {
  readonly config: ClientConfig;
  /** Through a pooler nothing may be left behind on a server connection: no settings, no locks. */
  readonly reach: Reach;
  /** Settings of every connection. */
  readonly settings: string;
  /** Prepares a connection before it is used. */
  readonly prepare?: (client: Client) => Promise<void>;
  /** Called when the connection in use is gone. */
  readonly dropped: (error: unknown) => void;
}

/**
 * One connection that only we use, one statement after the other. A new one ends what is left of the last one on the server,
 * whose locks and claims would otherwise outlive it.
 */
export class OwnedConnection {
  readonly #parts: OwnedConnectionParts;
  /** The open connection; undefined while there is none. */
  client: Client | undefined;
  #generation = 0;
  #connecting: Promise<Client> | undefined;
  /** Backend of the last connection, by its process and the start of its server: it may still be at work when the connection was lost. */
  #lastBackend: { readonly pid: number; readonly server: string } | undefined;
  /** Settles with the work asked for last. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(parts: OwnedConnectionParts) {
    this.#parts = parts;
  }

  /** Counts connections: another number is another session. */
  get generation(): number {
    return this.#generation;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Opens the connection, unless it is open. */
  async open(): Promise<Client> {
    if (this.#closed) throw new Error('Connection terminated: this queue is closed');
    if (this.client) return this.client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /** Runs work after what was asked for before, whatever became of that. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(work);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** The connection is gone. */
  drop(client: Client, error: unknown): void {
    if (this.discard(client)) this.#parts.dropped(error);
  }

  /** Lets the next statement open another connection; true when this was the one in use. */
  discard(client: Client): boolean {
    if (this.client !== client) return false;
    this.client = undefined;
    void client.end().catch(() => undefined);
    return true;
  }

  /** Opens none any more, and says goodbye. */
  async close(): Promise<void> {
    this.#closed = true;
    const client = this.client ?? (await this.#connecting?.catch(() => undefined));
    this.client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<Client> {
    const client = new Client({ ...this.#parts.config, types: ownTypes });
    client.on('error', (error) => this.drop(client, error));
    try {
      await client.connect();
      if (this.#parts.reach === 'direct') await withAnswerLimit(client, this.#setUp(client));
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    client.on('end', () => this.drop(client, new Error('Connection terminated')));
    this.client = client;
    this.#generation += 1;
    return client;
  }

  async #setUp(client: Client): Promise<void> {
    await client.query(this.#parts.settings);
    await this.#endLastBackend(client);
    const { rows } = await client.query<{ pid: number; server: string }>(
      'select pg_backend_pid() as pid, pg_postmaster_start_time()::text as server',
    );
    this.#lastBackend = rows[0];
    await this.#parts.prepare?.(client);
  }

  async #endLastBackend(client: Client): Promise<void> {
    if (this.#lastBackend === undefined) return;
    await client
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where pid = $1 and pg_postmaster_start_time()::text = $2 and application_name = current_setting('application_name') and usename = current_user`,
        [this.#lastBackend.pid, this.#lastBackend.server],
      )
      .catch(() => undefined);
  }
}

/**
 * TCP itself notices a dead network within seconds only on an idle connection. While a statement is under way it
 * sends it again and again for a quarter of an hour, so there the limit is ours. The library's own statements are
 * short: they wait for locks at most five seconds. A COMMIT that takes longer than this is not harmed, as its outcome
 * is read afterwards.
 */
const limitMs = 30_000;
/** The limit is granted twice: after a pause of the whole process its timers run before it reads what has arrived. */
const graceMs = 5_000;

/** Waits for the answer to a statement, and cuts the connection when it does not come. */
export async function withAnswerLimit<T>(client: Client, answer: Promise<T>): Promise<T> {
  const cut = (): void => {
    const seconds = (limitMs + graceMs) / 1000;
    client.connection.stream.destroy(new Error(`Connection terminated: no answer in ${seconds} s`));
  };
  let timer = setTimeout(() => (timer = setTimeout(cut, graceMs)), limitMs);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
