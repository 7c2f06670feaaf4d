import { Client, type ClientConfig, type CustomTypesConfig } from 'pg';
import { withAnswerLimit } from './answer-limit.js';
import { controlSettings, isConnectionError, isReadOnlyError } from './connection-config.js';
import { asQuery, type Reach } from './pooler.js';
import type { Statement } from '../statement.js';

/** Rows whose values are the text PostgreSQL sent: parsed only where they are used. */
export type TextRow = Readonly<Record<string, string | null>>;

const asText = { getTypeParser: () => (value: string) => value } as unknown as CustomTypesConfig;

/** Told when the connection is gone and when it is back. */
export interface ControlWatcher {
  lost(error: unknown): void;
  restored(): void;
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
  readonly #config: ClientConfig;
  readonly #watcher: ControlWatcher;
  readonly #reach: Reach;
  #client: Client | undefined;
  #generation = 0;
  #connecting: Promise<Client> | undefined;
  /** Backend of the last connection: it may still be at work when the connection was lost. */
  #lastBackend: number | undefined;
  /** Settles with the statement asked for last. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** True from a loss until the next connection: both are told once. */
  #lost = false;

  /** @param reach through a pooler nothing may be left behind on a server connection: no settings, no names */
  constructor(config: ClientConfig, watcher: ControlWatcher, reach: Reach = 'direct') {
    this.#config = config;
    this.#watcher = watcher;
    this.#reach = reach;
  }

  /** Counts connections: another number is another session. */
  get generation(): number {
    return this.#generation;
  }

  /** Opens it, unless it is open: then the answer is undefined. */
  opening(): Promise<void> | undefined {
    return this.#client ? undefined : this.#connected().then(() => undefined);
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
    const answer = this.#last.then(() =>
      this.#run(statement, typeof values === 'function' ? values() : values),
    );
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined));
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  /** Answers the rows as text. */
  async #run(statement: Statement, values: readonly unknown[]): Promise<readonly TextRow[]> {
    const client = await this.#connected();
    try {
      const answer = client.query<TextRow>(asQuery(statement, this.#reach, values, asText));
      const { rows } = await withAnswerLimit(client, answer);
      return rows;
    } catch (error) {
      if (isConnectionError(error)) this.#drop(client, error as Error);
      else if (isReadOnlyError(error)) this.#discard(client);
      throw error;
    }
  }

  async #connected(): Promise<Client> {
    if (this.#closed) throw new Error('Connection terminated: this queue is closed');
    if (this.#client) return this.#client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<Client> {
    const client = new Client(this.#config);
    client.on('error', (error) => this.#drop(client, error));
    try {
      await client.connect();
      if (this.#reach === 'direct') await withAnswerLimit(client, this.#setUp(client));
    } catch (error) {
      await client.end().catch(() => undefined);
      this.#tellLost(error);
      throw error;
    }
    client.on('end', () => this.#drop(client, new Error('Connection terminated')));
    this.#client = client;
    this.#generation += 1;
    if (this.#lost) this.#watcher.restored();
    this.#lost = false;
    return client;
  }

  async #setUp(client: Client): Promise<void> {
    await client.query(controlSettings);
    await this.#endLastBackend(client);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    this.#lastBackend = rows[0]?.pid;
  }

  /** A claim whose answer was lost may still be running there: it must not claim behind our back. */
  async #endLastBackend(client: Client): Promise<void> {
    if (this.#lastBackend === undefined) return;
    await client
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where pid = $1 and application_name = current_setting('application_name') and usename = current_user`,
        [this.#lastBackend],
      )
      .catch(() => undefined);
    this.#lastBackend = undefined;
  }

  #drop(client: Client, error: Error): void {
    if (this.#discard(client)) this.#tellLost(error);
  }

  /** Lets the next statement open another one; true when this was the one in use. */
  #discard(client: Client): boolean {
    if (this.#client !== client) return false;
    this.#client = undefined;
    void client.end().catch(() => undefined);
    return true;
  }

  #tellLost(error: unknown): void {
    if (this.#closed || this.#lost) return;
    this.#lost = true;
    this.#watcher.lost(error);
  }
}
