import type { Client, ClientConfig, CustomTypesConfig } from 'pg';
import { OwnedConnection, withAnswerLimit } from './owned-connection.js';
import { controlSettings, isConnectionError, isReadOnlyError, type Reach } from './connection-config.js';
import type { Statement } from '../statement.js';
import { isRingRefused, quietly } from './without-ring.js';

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
    this.#connection = new OwnedConnection({ config, reach, settings: controlSettings, dropped });
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

  /** Answers the rows as text. */
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
