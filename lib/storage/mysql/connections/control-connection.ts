import { randomUUID } from 'node:crypto';
import type { Connection, ConnectionOptions } from 'mysql2';
import { mysqlDialect, type Dialect } from '../dialect.js';
import { isConnectionError, isReadOnlyError } from '../mysql-errors.js';
import { withAnswerLimit } from './answer-limit.js';
import { ask, type Answer } from './answers.js';
import { rethrowConnectionError } from './lost-connection.js';
import type { Mysql2 } from './mysql-package.js';
import { streamOf } from './stream-of.js';
import { repeated, type Run } from './transactions.js';

/** Told when the connection is gone and when it is back. */
export interface ControlWatcher {
  lost(error: unknown): void;
  restored(): void;
  /** Its server only reads, so another one may have taken its place: told before a new connection is opened. */
  refused?(): void;
}

/** Which of the connections that claim. */
export type ControlName = 'first' | 'second';

/** The second one is opened only where two statements are under way at once. */
export type ControlConnections = Readonly<Record<ControlName, ControlConnection>>;

/** An answer that takes longer will not come: the server ends what waits for locks sooner. */
const answerMs = 30_000;
/** How long a connection that was ended may take to be gone. */
const lockSeconds = 2;

/**
 * A connection of a queue that settles and claims, so that handlers can never starve it. Opened by the first statement and again
 * by the first one after it was lost; who calls decides how soon. Work on it runs one after the other.
 */
export class ControlConnection {
  readonly #mysql: Mysql2;
  readonly #config: ConnectionOptions;
  readonly #settings: string;
  readonly #watcher: ControlWatcher;
  readonly #dialect: Dialect;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  /** Settles with the work asked for last. */
  #last: Promise<unknown> = Promise.resolve();
  /** Held by each connection in turn: who holds it when another one opens is what is left of the last one. */
  readonly #lock = `tarefa:control:${randomUUID()}`;
  #lost = false;
  #closed = false;

  constructor(
    mysql: Mysql2,
    config: ConnectionOptions,
    settings: string,
    watcher: ControlWatcher,
    dialect = mysqlDialect,
  ) {
    this.#mysql = mysql;
    this.#config = config;
    this.#settings = settings;
    this.#watcher = watcher;
    this.#dialect = dialect;
  }

  /** Opens it, unless it is open: then the answer is undefined. */
  opening(): Promise<void> | undefined {
    return this.#connection ? undefined : this.#open().then(() => undefined, rethrowConnectionError);
  }

  /** Runs a text of one or several statements, outside of transactions unless it begins one. */
  several(text: string, values?: readonly unknown[]): Promise<readonly Answer[]> {
    return this.use((run) => run(text, values));
  }

  /** Runs one statement, which commits by itself. */
  async query(text: string, values?: readonly unknown[]): Promise<Answer> {
    const [answer] = await this.several(text, values);
    if (!answer) throw new Error('the server sent no answer');
    return answer;
  }

  /**
   * Runs work that is one transaction, whose statements begin and end it; again from its beginning when it loses to others. A
   * failed one is rolled back.
   */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.use((run) => repeated(run, () => work(run)));
  }

  /** Lends the connection to work after what was asked for before, whatever became of that. */
  use<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const answer = this.#last.then(() => this.#run(work));
    this.#last = answer.catch(() => undefined);
    return answer.catch(rethrowConnectionError);
  }

  /** Opens none any more, and says goodbye. */
  async close(): Promise<void> {
    this.#closed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    this.#connection = undefined;
    if (connection) await new Promise<void>((resolve) => connection.end(() => resolve()));
  }

  /** What a server that only reads has refused is done once more, where connections lead now. */
  async #run<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#runOnce(work).catch((error: unknown) => {
      if (!isReadOnlyError(error)) throw error;
      this.#watcher.refused?.();
      return this.#runOnce(work);
    });
  }

  async #runOnce<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const connection = this.#connection ?? (await this.#open());
    try {
      return await work((text, values) => this.#ask(connection, text, values));
    } catch (error) {
      if (isConnectionError(error)) this.#drop(connection, error);
      else if (isReadOnlyError(error)) this.#discard(connection, error);
      throw error;
    }
  }

  /** A server or a network that says nothing would keep the worker waiting for ever. */
  #ask(connection: Connection, text: string, values: readonly unknown[] = []): Promise<readonly Answer[]> {
    const sent = this.#dialect.write(text, values);
    return withAnswerLimit(connection, ask(connection, sent.text, sent.values), answerMs);
  }

  async #open(): Promise<Connection> {
    if (this.#closed) throw new Error('Connection closed: this queue is closed');
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    try {
      const connection = await this.#connecting;
      if (this.#lost) this.#watcher.restored();
      this.#lost = false;
      return connection;
    } catch (error) {
      this.#tellLost(error);
      throw error;
    }
  }

  async #connect(): Promise<Connection> {
    const connection = this.#mysql.createConnection(this.#config);
    connection.on('error', (error) => this.#drop(connection, error));
    try {
      await new Promise<void>((resolve, reject) => {
        connection.connect((error) => (error ? reject(error) : resolve()));
      });
      await this.#ask(connection, this.#settings);
      // It is told by a named lock. Without, the server ends it when it learns that its client is gone.
      if (this.#dialect.name === 'mysql') await this.#endLastSession(connection);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    connection.on('end', () => this.#drop(connection, new Error('Connection closed')));
    this.#connection = connection;
    return connection;
  }

  /**
   * Its locks and claims would outlive it. By a lock and not by a remembered id: after a restart of the server that id is another
   * session's.
   */
  async #endLastSession(connection: Connection): Promise<void> {
    const [answer] = await this.#ask(connection, 'select is_used_lock(?) as id', [this.#lock]);
    const id = answer?.rows[0]?.['id'];
    if (id != null) {
      // It may have gone meanwhile.
      await this.#ask(connection, `kill ${BigInt(id)}`).catch((error: unknown) => {
        if (isConnectionError(error)) throw error;
      });
    }
    await this.#ask(connection, `select get_lock(?, ${lockSeconds})`, [this.#lock]);
  }

  #drop(connection: Connection, error: unknown): void {
    if (this.#discard(connection, error)) this.#tellLost(error);
  }

  /** Lets the next statement open another connection; true when this was the one in use. */
  #discard(connection: Connection, error: unknown): boolean {
    if (this.#connection !== connection) return false;
    this.#connection = undefined;
    streamOf(connection).destroy(error as Error);
    return true;
  }

  #tellLost(error: unknown): void {
    if (this.#closed || this.#lost) return;
    this.#lost = true;
    this.#watcher.lost(error);
  }
}
