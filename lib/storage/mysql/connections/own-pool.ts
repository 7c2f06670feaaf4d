import type { Connection, ConnectionOptions, Pool, PoolConnection } from 'mysql2';
import { watchAnswer, ConnectionLine, defaultPatienceMs, sharedText } from '../../pooling.js';
import { traceText } from '../../session-traces.js';
import type { SqlHandle } from '../../sql-handle.js';
import { mysqlDialect, type Dialect } from '../dialect.js';
import { isConnectionError, isReadOnlyError } from '../mysql-errors.js';
import { connectWithin, withAnswerLimit } from './answer-limit.js';
import { ask, type Answer } from './answers.js';
import { messageOf, rethrowConnectionError } from './lost-connection.js';
import type { Mysql2 } from './mysql-package.js';
import { notePlace } from './session-place.js';
import { sessions } from '../statement.js';
import { streamOf } from './stream-of.js';
import { inTransaction, type Run } from './transactions.js';

/** The driver's code for a connection that is closed on this side. */
const closedCode = 'PROTOCOL_ENQUEUE_AFTER_QUIT';

/** How long connecting and answering may take each, when it is asked what the server is doing. */
const lookMs = 10_000;

/**
 * Parameters: the number of this session as the driver was told it, that of the session asked about. Behind a proxy these are not
 * the server's, which can then not tell, and neither can one without `performance_schema`.
 */
const atWork = `-- name: is_at_work
select connection_id() = ? /*!80022 and @@performance_schema */ as told,
  exists (select 1 from ${sessions} where id = ? and command <> 'Sleep') as busy`;

/** The server's numbers for having no connection left, altogether or for this user. */
const tooMany = new Set<unknown>([1040, 1203, 1226]);

/** How long an idle connection is kept. */
const idleMs = 30_000;

export interface OwnPoolParts {
  readonly mysql: Mysql2;
  readonly config: ConnectionOptions;
  readonly max: number;
  /** Statements that every connection begins with. */
  readonly settings: string;
  /** Default: MySQL's. */
  readonly dialect?: Dialect | undefined;
  /** How old a connection may become, at which it is not lent again. Default: any age. */
  readonly maxAgeMs?: number | undefined;
  /**
   * Told that one of its connections fell silent, or is to a server that only reads: so may be others, of other pools as well.
   * Default: {@link OwnPool.renew}.
   */
  readonly suspect?: (() => void) | undefined;
  /** Told that no more connections can be opened, once until the next one; and, once, what handlers leave in their sessions. */
  readonly warn?: (message: string) => void;
}

/** A connection that somebody has. Whoever has it releases it, or destroys it, also when it is lost: others wait for its place. */
export interface LentConnection {
  readonly raw: PoolConnection;
  /** Sends a text of the library's; a connection that does not answer is cut. */
  readonly ask: Run;
  /** Sends a text of the library's; nobody watches whether it is answered. */
  readonly send: Run;
  /** @param trace what has been left in its session, in words: then it is closed */
  release(trace?: string): void;
  destroy(): void;
  /**
   * It was ended by other means than {@link destroy}.
   *
   * @param reason why
   */
  forget(reason?: unknown): void;
}

/**
 * Connections to one database, each opened when it is needed, set up before its first statement, and lent to whoever waits
 * longest: see {@link ConnectionLine}.
 */
export class OwnPool {
  readonly #pool: Pool;
  readonly #look: () => Connection;
  readonly #line: ConnectionLine<PoolConnection>;
  readonly #warn: OwnPoolParts['warn'];
  readonly #suspect: () => void;
  readonly #dialect: Dialect;
  /** Those that were opened since {@link renew} was asked for last. */
  #current = new WeakSet<PoolConnection>();
  #hasToldTrace = false;
  #closed: Promise<void> | undefined;

  constructor({
    mysql,
    config,
    max,
    settings,
    dialect = mysqlDialect,
    maxAgeMs,
    suspect = () => this.renew(),
    warn,
  }: OwnPoolParts) {
    this.#dialect = dialect;
    this.#suspect = suspect;
    this.#pool = mysql.createPool({
      ...config,
      // Never reached: those that are being ended count for a moment beside those in use.
      connectionLimit: 2 * max + 1,
      maxIdle: 0,
      idleTimeout: idleMs,
      waitForConnections: true,
    });
    this.#look = () => mysql.createConnection(config);
    this.#warn = warn;
    let isSaid = false;
    this.#line = new ConnectionLine({
      max,
      open: () => this.#open(),
      keep: (connection) => (this.#current.has(connection) ? connection.release() : connection.destroy()),
      isUsable: (connection) => this.#current.has(connection),
      shared: (error, others) => {
        if (!isSaid) warn?.(sharedText(messageOf(error), others));
        isSaid = true;
      },
    });
    this.#pool.on('connection', (connection) => {
      isSaid = false;
      this.#current.add(connection);
      const retire = (): void => {
        this.#current.delete(connection);
        this.#line.drop(connection);
      };
      streamOf(connection).once('close', retire);
      if (maxAgeMs !== undefined) setTimeout(retire, maxAgeMs).unref();
      connection.on('error', () => undefined);
      // Sent before whatever the connection was opened for. Should it fail, a connection with other settings is worth none.
      this.#send(connection, settings).catch((error: Error) => {
        retire();
        // The driver's own way to end it would leave waiting for ever what was sent behind.
        streamOf(connection).destroy(error);
      });
      notePlace(connection, (text) => this.#send(connection, text));
    });
  }

  /** Runs one statement, which commits by itself. */
  async query(text: string, values?: readonly unknown[]): Promise<Answer> {
    const [answer] = await this.several(text, values);
    if (!answer) throw new Error('the server sent no answer');
    return answer;
  }

  /** Runs a text of several statements. */
  several(text: string, values?: readonly unknown[]): Promise<readonly Answer[]> {
    return this.use((run) => run(text, values));
  }

  /** Runs work on a connection, which it gets as a handle, as users' transactions are. */
  useHandle<T>(work: (handle: SqlHandle) => Promise<T>): Promise<T> {
    return this.use((run) => work(asHandle(run)));
  }

  /** Runs work in a transaction of its own, again when it loses to others. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.use((run) => inTransaction(run, work));
  }

  /** Lends a connection to work. One that was lost is not lent again. */
  async use<T>(work: (run: Run, connection: PoolConnection) => Promise<T>): Promise<T> {
    const lent = await this.take().catch(rethrowConnectionError);
    try {
      const result = await work(lent.ask, lent.raw);
      lent.release();
      return result;
    } catch (error) {
      if (isConnectionError(error)) lent.destroy();
      else {
        if (isReadOnlyError(error)) this.#suspect();
        lent.release();
      }
      return rethrowConnectionError(error);
    }
  }

  /**
   * A connection of the caller's, once there is one.
   *
   * @param mostMs how long it waits for open connections while no more can be opened
   */
  async take(mostMs = defaultPatienceMs): Promise<LentConnection> {
    const raw = await this.#line.take(mostMs);
    const destroy = (): void => {
      raw.destroy();
      this.#line.gone(raw);
    };
    return {
      raw,
      ask: (text, values) => this.#ask(raw, text, values),
      send: (text, values) => this.#send(raw, text, values),
      release: (trace) => {
        if (trace !== undefined) {
          if (!this.#hasToldTrace) this.#warn?.(traceText(trace));
          this.#hasToldTrace = true;
          destroy();
          return;
        }
        this.#line.back(raw);
      },
      destroy,
      forget: (reason) => {
        if (isReadOnlyError(reason)) this.#suspect();
        this.#line.gone(raw);
      },
    };
  }

  /** From now on only new connections are lent: those that are open may be to a server that another one has replaced. */
  renew(): void {
    this.#current = new WeakSet();
    this.#line.tidy();
  }

  /** Closes all connections. Idempotent. */
  close(): Promise<void> {
    this.#line.close(
      Object.assign(new Error('Connection closed: this queue is closed'), { code: closedCode }),
    );
    this.#closed ??= new Promise((resolve) => this.#pool.end(() => resolve()));
    return this.#closed;
  }

  #ask(raw: PoolConnection, text: string, values?: readonly unknown[]): Promise<readonly Answer[]> {
    return watchAnswer(this.#send(raw, text, values), {
      isAtWork: () => this.#isAtWork(raw.threadId),
      cut: (reason) => {
        this.#suspect();
        streamOf(raw).destroy(Object.assign(reason, { code: 'PROTOCOL_CONNECTION_LOST' }));
      },
    });
  }

  #send(connection: Connection, text: string, values: readonly unknown[] = []): Promise<readonly Answer[]> {
    const sent = this.#dialect.write(text, values);
    return ask(connection, sent.text, sent.values);
  }

  /** Asks over a connection of its own; undefined when the server cannot tell. */
  async #isAtWork(threadId: number | null): Promise<boolean | undefined> {
    const connection = this.#look();
    connection.on('error', () => undefined);
    try {
      await connectWithin(connection, lookMs);
      const asked = this.#send(connection, atWork, [connection.threadId, threadId]);
      const [answer] = await withAnswerLimit(connection, asked, lookMs);
      const { told, busy } = answer?.rows[0] ?? {};
      return told === '1' ? busy === '1' : undefined;
    } catch (error) {
      // It lives, and is asked again later.
      if (tooMany.has((error as { readonly errno?: unknown }).errno)) return true;
      throw error;
    } finally {
      connection.destroy();
    }
  }

  #open(): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      this.#pool.getConnection((error, connection) => {
        if (error) reject(error);
        else if (this.#current.has(connection)) resolve(connection);
        else {
          connection.destroy();
          resolve(this.#open());
        }
      });
    });
  }
}

/** A handle, which answers the rows of the last statement of a text. */
export function asHandle(run: Run): SqlHandle {
  return {
    query: async (text, values) => {
      const answer = (await run(text, values)).at(-1);
      return { rows: [...(answer?.rows ?? [])] };
    },
  };
}
