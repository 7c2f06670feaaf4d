import type { ConnectionOptions, Pool, PoolConnection } from 'mysql2';
import { ConnectionLine, defaultPatienceMs, sharedText } from '../../connection-line.js';
import { traceText } from '../../session-traces.js';
import type { SqlHandle } from '../../sql-handle.js';
import { isConnectionError } from '../mysql-errors.js';
import { ask, type Answer } from './answers.js';
import { messageOf, rethrowConnectionError } from './lost-connection.js';
import type { Mysql2 } from './mysql-package.js';
import { streamOf } from './stream-of.js';
import { inTransaction, type Run } from './transactions.js';

/** The driver's code for a connection that is closed on this side. */
const closedCode = 'PROTOCOL_ENQUEUE_AFTER_QUIT';

/** How long an idle connection is kept. */
const idleMs = 30_000;

export interface OwnPoolParts {
  readonly mysql: Mysql2;
  readonly config: ConnectionOptions;
  readonly max: number;
  /** Statements that every connection begins with. */
  readonly settings: string;
  /** Told that no more connections can be opened, once until the next one; and, once, what handlers leave in their sessions. */
  readonly warn?: (message: string) => void;
}

/** A connection that somebody has. Whoever has it releases it, or destroys it, also when it is lost: others wait for its place. */
export interface LentConnection {
  readonly raw: PoolConnection;
  /** @param trace what has been left in its session, in words: then it is closed */
  release(trace?: string): void;
  destroy(): void;
  /** It was ended by other means than {@link destroy}. */
  forget(): void;
}

/**
 * Connections to one database, each opened when it is needed, set up before its first statement, and lent to whoever waits
 * longest: see {@link ConnectionLine}.
 */
export class OwnPool {
  readonly #pool: Pool;
  readonly #line: ConnectionLine<PoolConnection>;
  readonly #warn: OwnPoolParts['warn'];
  #hasToldTrace = false;
  #closed: Promise<void> | undefined;

  constructor({ mysql, config, max, settings, warn }: OwnPoolParts) {
    this.#pool = mysql.createPool({
      ...config,
      // Never reached: those that are being ended count for a moment beside those in use.
      connectionLimit: 2 * max + 1,
      maxIdle: 0,
      idleTimeout: idleMs,
      waitForConnections: true,
    });
    this.#warn = warn;
    let isSaid = false;
    this.#line = new ConnectionLine({
      max,
      open: () => this.#open(),
      keep: (connection) => connection.release(),
      shared: (error, others) => {
        if (!isSaid) warn?.(sharedText(messageOf(error), others));
        isSaid = true;
      },
    });
    this.#pool.on('connection', (connection) => {
      isSaid = false;
      connection.on('error', () => undefined);
      // Sent before whatever the connection was opened for. Should it fail, a connection with other settings is worth none.
      connection.query(settings, (error) => {
        // The driver's own way to end it would leave waiting for ever what was sent behind.
        if (error) streamOf(connection).destroy(error);
      });
    });
  }

  /** Runs one statement, which commits by itself. */
  async query(text: string, values?: readonly unknown[]): Promise<Answer> {
    const [answer] = await this.several(text, values);
    if (!answer) throw new Error('the server answered nothing');
    return answer;
  }

  /** Runs a text of several statements. */
  several(text: string, values?: readonly unknown[]): Promise<readonly Answer[]> {
    return this.use((run) => run(text, values));
  }

  /** The same as a handle, as users' transactions are. */
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
      const result = await work((text, values) => ask(lent.raw, text, values), lent.raw);
      lent.release();
      return result;
    } catch (error) {
      if (isConnectionError(error)) lent.destroy();
      else lent.release();
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
      this.#line.back(raw, true);
    };
    return {
      raw,
      release: (trace) => {
        if (trace !== undefined) {
          if (!this.#hasToldTrace) this.#warn?.(traceText(trace));
          this.#hasToldTrace = true;
          destroy();
          return;
        }
        raw.release();
        this.#line.back(raw, false);
      },
      destroy,
      forget: () => this.#line.back(raw, true),
    };
  }

  /** Closes all connections. Idempotent. */
  close(): Promise<void> {
    this.#line.close(
      Object.assign(new Error('Connection closed: this queue is closed'), { code: closedCode }),
    );
    this.#closed ??= new Promise((resolve) => this.#pool.end(() => resolve()));
    return this.#closed;
  }

  #open(): Promise<PoolConnection> {
    return new Promise((resolve, reject) => {
      this.#pool.getConnection((error, connection) => {
        if (error) reject(error);
        else resolve(connection);
      });
    });
  }
}

/** A handle of one statement at a time. */
export function asHandle(run: Run): SqlHandle {
  return {
    query: async (text, values) => {
      const [answer] = await run(text, values);
      return { rows: [...(answer?.rows ?? [])] };
    },
  };
}
