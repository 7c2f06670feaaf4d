import type { Connection, ConnectionOptions } from 'mysql2';
import { readBoolean } from '../../columns.js';
import { isConnectionError } from '../mysql-errors.js';
import { connectWithin, withAnswerLimit } from './answer-limit.js';
import { ask, type TextRow } from './answers.js';
import { commonSettings } from './mysql-config.js';
import type { Mysql2 } from './mysql-package.js';
import { streamOf } from './stream-of.js';

/** An answer that takes longer will not come. */
const answerMs = 5_000;
/** How long a session that was ended may take to free its locks. */
const handOverSeconds = 3;

/** Without limits of the server's for statements, which would end what waits on purpose. */
const settings = (silentSeconds: number): string =>
  `${commonSettings};
set session wait_timeout = ${silentSeconds} /*!80000 , max_execution_time = 0 */ /*M!100000 , max_statement_time = 0 */`;

/** One connection and the locks that it holds. Lives in a thread of its own, whose event loop no handler blocks. */
export class SessionLocks {
  readonly #mysql: Mysql2;
  readonly #config: ConnectionOptions;
  readonly #silentSeconds: number;
  /** Told that the connection in use is gone. */
  readonly #lost: (error: unknown) => void;
  /** Taken again by the next connection. */
  readonly #lasting: Set<string>;
  #connection: Connection | undefined;
  /** The server's id of the connection in use, or of the last one. */
  #sessionId: string | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    mysql: Mysql2,
    config: ConnectionOptions,
    silentSeconds: number,
    lasting: readonly string[],
    lost: (error: unknown) => void,
  ) {
    this.#mysql = mysql;
    this.#config = config;
    this.#silentSeconds = silentSeconds;
    this.#lasting = new Set(lasting);
    this.#lost = lost;
  }

  /** Opens a connection and takes the lasting locks. */
  async open(): Promise<void> {
    const connection = this.#mysql.createConnection({ ...this.#config, connectTimeout: answerMs });
    // Told by the statement that fails of it.
    connection.on('error', (error) => this.#drop(connection, error));
    try {
      await connectWithin(connection, answerMs);
      await this.#ask(connection, settings(this.#silentSeconds), []);
      for (const name of this.#lasting) await this.#takeAgain(connection, name);
      this.#sessionId =
        (await this.#ask(connection, 'select connection_id() as id', []))?.['id'] ?? undefined;
    } catch (error) {
      connection.destroy();
      throw error;
    }
    this.#connection = connection;
    connection.on('end', () => this.#drop(connection, new Error('Connection closed')));
  }

  /** Rejects, and drops the connection, unless it holds every lasting lock. */
  async prove(): Promise<void> {
    await this.#inTurn(async (connection) => {
      const names = [...this.#lasting];
      const held = names.map(() => 'is_used_lock(?) <=> connection_id()').join(' and ') || '1';
      const row = await this.#ask(connection, `select ${held} as held`, names);
      if (readBoolean(row?.['held'])) return;
      const error = new Error('the session no longer holds its locks');
      this.#drop(connection, error);
      throw error;
    });
  }

  /** Takes a lock and keeps it over reconnects; false when another session has it. */
  async hold(name: string): Promise<boolean> {
    const taken = await this.tryLock(name);
    if (taken) this.#lasting.add(name);
    return taken;
  }

  tryLock(name: string): Promise<boolean> {
    return this.#inTurn(async (connection) => {
      const row = await this.#ask(connection, 'select get_lock(?, 0) as got', [name]);
      return readBoolean(row?.['got']);
    });
  }

  async unlock(name: string): Promise<void> {
    this.#lasting.delete(name);
    await this.#inTurn((connection) => this.#ask(connection, 'do release_lock(?)', [name]));
  }

  /** Drops the connection, whose server is not the one where the tasks are. */
  leave(why: Error): void {
    if (this.#connection) this.#drop(this.#connection, why);
  }

  /** Says goodbye, which frees all locks. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) await new Promise<void>((resolve) => connection.end(() => resolve()));
  }

  /** The server may not know yet that the last connection is gone. */
  async #takeAgain(connection: Connection, name: string): Promise<void> {
    const take = `select get_lock(?, ?) as got, is_used_lock(?) as holder`;
    const first = await this.#ask(connection, take, [name, 0, name]);
    if (readBoolean(first?.['got'])) return;
    const holder = first?.['holder'];
    if (typeof holder === 'string' && holder === this.#sessionId) {
      // Only who holds our lock is ended: a server that has started again gives ids to others.
      await this.#ask(connection, `kill ${BigInt(holder)}`, []).catch((error: unknown) => {
        if (isConnectionError(error)) throw error;
      });
    }
    const second = await this.#ask(connection, take, [name, handOverSeconds, name]);
    if (!readBoolean(second?.['got'])) throw new Error(`another session still holds the lock '${name}'`);
  }

  #inTurn<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const answer = this.#last.then(() => {
      if (!this.#connection) throw new Error('Connection closed: the session is down');
      return work(this.#connection);
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #ask(connection: Connection, text: string, values: readonly unknown[]): Promise<TextRow | undefined> {
    try {
      const [answer] = await withAnswerLimit(connection, ask(connection, text, values), answerMs);
      return answer?.rows[0];
    } catch (error) {
      if (isConnectionError(error)) this.#drop(connection, error);
      throw error;
    }
  }

  #drop(connection: Connection, error: unknown): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    streamOf(connection).destroy(error as Error);
    this.#lost(error);
  }
}
