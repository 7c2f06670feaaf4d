import { Client, type ClientConfig, type CustomTypesConfig } from 'pg';
import { controlSettings, isConnectionError, isReadOnlyError, type Reach } from './connection-config.js';
import type { Statement } from '../statement.js';
import { isRingRefused, quietly } from './without-ring.js';
import { ownTypes } from './own-pool.js';
import { watchAnswer } from '../../pooling.js';

/** Rows whose values are the text PostgreSQL sent: parsed only where they are used. */
export type TextRow = Readonly<Record<string, string | null>>;

const asText = { getTypeParser: () => (value: string) => value } as unknown as CustomTypesConfig;

/** Told when the connection is gone and when it is back. */
export interface ControlWatcher {
  lost(error: unknown): void;
  restored(): void;
  /** Its server only reads, so another one may have taken its place: told before a new connection is opened. */
  refused(): void;
}

/** Which of the connections that claim. */
export type ControlName = 'first' | 'second';

/** The second one is opened only where two statements are under way at once. */
export type ControlConnections = Readonly<Record<ControlName, ControlConnection>>;

/**
 * A connection of a queue that settles and claims, so that handlers can never starve it. Opened by the
 * first statement and again by the first one after it was lost; who calls decides how soon.
 */
export class ControlConnection {
  readonly #connection: OwnedConnection;
  readonly #watcher: ControlWatcher;
  readonly #reach: Reach;
  /** True from a loss until the next connection: both are told once. */
  #lost = false;

  constructor(config: ClientConfig, watcher: ControlWatcher, reach: Reach = 'direct') {
    this.#watcher = watcher;
    this.#reach = reach;
    const dropped = (error: unknown): void => this.#tellLost(error);
    this.#connection = new OwnedConnection(config, reach, controlSettings, dropped);
  }

  /** Counts connections: another number is another session. */
  get generation(): number {
    return this.#connection.generation;
  }

  /** Opens it, unless it is open: then the answer is undefined. */
  opening(): Promise<void> | undefined {
    return this.#connection.client ? undefined : this.#open().then(() => undefined);
  }

  /**
   * Runs a prepared statement after those before it, for worker, recovery and routines share the connection.
   *
   * @param values or a function that reads them when the statement is sent
   */
  query(
    statement: Statement,
    values: readonly unknown[] | (() => readonly unknown[]),
  ): Promise<readonly TextRow[]> {
    return this.#connection.inTurn(() => {
      const given = typeof values === 'function' ? values() : values;
      return this.#ask(statement, given).catch((error: unknown) => this.#askAgain(error, statement, given));
    });
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** What a server that only reads has refused is sent once more, where connections lead now; what a ring made fail, without it. */
  async #askAgain(
    error: unknown,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<readonly TextRow[]> {
    if (isRingRefused(error)) return this.#askQuietly(statement, values);
    if (!isReadOnlyError(error)) throw error;
    this.#watcher.refused();
    return this.#ask(statement, values);
  }

  /** Without a ring, as a trigger of somebody's has: one that inserts into a queue. */
  async #askQuietly(statement: Statement, values: readonly unknown[]): Promise<readonly TextRow[]> {
    const client = await this.#open();
    await withAnswerLimit(client, client.query(`begin; ${quietly}`));
    try {
      const rows = await this.#ask(statement, values);
      await withAnswerLimit(client, client.query('commit'));
      return rows;
    } catch (error) {
      await withAnswerLimit(client, client.query('rollback')).catch(() => undefined);
      throw error;
    }
  }

  /** Returns the rows as text. */
  async #ask(statement: Statement, values: readonly unknown[]): Promise<readonly TextRow[]> {
    const client = this.#connection.client ?? (await this.#open());
    const name = this.#reach === 'direct' ? statement.name : undefined;
    try {
      const query = { name, text: statement.text, values: [...values], types: asText };
      const { rows } = await withAnswerLimit(client, client.query<TextRow>(query));
      return rows;
    } catch (error) {
      if (isConnectionError(error)) this.#connection.drop(client, error);
      else if (isReadOnlyError(error)) this.#connection.discard(client);
      throw error;
    }
  }

  async #open(): Promise<Client> {
    try {
      const client = await this.#connection.open();
      if (this.#lost) this.#watcher.restored();
      this.#lost = false;
      return client;
    } catch (error) {
      this.#tellLost(error);
      throw error;
    }
  }

  #tellLost(error: unknown): void {
    if (this.#connection.closed || this.#lost) return;
    this.#lost = true;
    this.#watcher.lost(error);
  }
}

/**
 * One connection that only we use, one statement after the other. A new one ends what is left of the last one on the server,
 * whose locks and claims would otherwise outlive it.
 */
export class OwnedConnection {
  readonly #config: ClientConfig;
  /** Through a pooler nothing may be left behind on a server connection: no settings, no locks. */
  readonly #reach: Reach;
  /** Settings of every connection. */
  readonly #settings: string;
  /** Called when the connection in use is gone. */
  readonly #dropped: (error: unknown) => void;
  /** Prepares a connection before it is used. */
  readonly #prepare: ((client: Client) => Promise<void>) | undefined;
  /** The open connection; undefined while there is none. */
  client: Client | undefined;
  #generation = 0;
  #connecting: Promise<Client> | undefined;
  /** Backend of the last connection, by its process and the start of its server: it may still be at work when the connection was lost. */
  #lastBackend: { readonly pid: number; readonly server: string } | undefined;
  /** Settles with the work asked for last. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(
    config: ClientConfig,
    reach: Reach,
    settings: string,
    dropped: (error: unknown) => void,
    prepare?: (client: Client) => Promise<void>,
  ) {
    this.#config = config;
    this.#reach = reach;
    this.#settings = settings;
    this.#dropped = dropped;
    this.#prepare = prepare;
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
    if (this.discard(client)) this.#dropped(error);
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
    const client = new Client({ ...this.#config, types: ownTypes });
    client.on('error', (error) => this.drop(client, error));
    try {
      await client.connect();
      if (this.#reach === 'direct') await withAnswerLimit(client, this.#setUp(client));
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
    await client.query(this.#settings);
    await this.#endLastBackend(client);
    const { rows } = await client.query<{ pid: number; server: string }>(
      'select pg_backend_pid() as pid, pg_postmaster_start_time()::text as server',
    );
    this.#lastBackend = rows[0];
    await this.#prepare?.(client);
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
 * Waits for the answer to a statement, and cuts the connection when it does not come. TCP itself notices a dead network within
 * seconds only on an idle connection: while a statement is under way it sends it again and again for a quarter of an hour. The
 * library's own statements are short: they wait for locks at most five seconds, so the server is not asked whether it is at work. A
 * COMMIT that takes longer than this is not harmed, as its outcome is read afterwards.
 */
export function withAnswerLimit<T>(client: Client, answer: Promise<T>): Promise<T> {
  const cut = (reason: Error): void => void client.connection.stream.destroy(reason);
  return watchAnswer(answer, { isAtWork: () => Promise.resolve(false), cut });
}
