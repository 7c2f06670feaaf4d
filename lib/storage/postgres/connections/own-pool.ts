import {
  Client,
  type CustomTypesConfig,
  type Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
} from 'pg';
import { watchAnswer } from '../../answer-watch.js';
import { isReadOnlyError } from './connection-config.js';
import { traceOf } from '../../session-traces.js';
import { ConnectionLine, defaultPatienceMs, type LineParts } from '../../connection-line.js';
import { ownTypes } from './own-types.js';

/** A row as `pg` reads it. */
type Row = Record<string, unknown>;

/** A statement whose answer is read in the library's own way. */
export interface OwnQuery extends QueryConfig {
  readonly types: CustomTypesConfig;
}

/** What lends connections: an {@link OwnPool}, or a pool of `pg`. */
export interface Lender {
  connect(): Promise<PoolClient>;
}

/** How a connection of a pool is watched. */
export interface SessionWatch {
  /** Told the words that leave something in the session; undefined where that is not the connection's alone. */
  readonly left?: ((words: string) => void) | undefined;
  /** Asks the server whether it is at work on a statement of that client's. Default: it cannot tell. */
  readonly isAtWork?: ((client: Client) => Promise<boolean | undefined>) | undefined;
  /** Told that the connection fell silent: others that are open may have as well. */
  readonly silent: () => void;
}

/** How an {@link OwnPool} works; everything has a default. */
export interface OwnPoolOptions extends Pick<LineParts<PoolClient>, 'isFinal' | 'shared'> {
  /** How long requests wait for open connections while no more can be opened. */
  readonly patienceMs?: number;
  /** How its connections are watched: one in whose session something is left is closed after its use. */
  readonly watch?: SessionWatch | undefined;
  /** Told that its server only reads, so another one may have taken its place. Default: {@link OwnPool.renew}. */
  readonly refused?: (() => void) | undefined;
}

/** A pool of `pg` of the library's own, whose connections are lent to whoever waits longest: see {@link ConnectionLine}. */
export class OwnPool implements Lender {
  readonly #pool: Pool;
  /** Those who wait for one. */
  readonly line: ConnectionLine<PoolClient>;
  readonly #patienceMs: number;
  readonly #refused: () => void;
  /** Connections that were opened since {@link renew} was asked for last, and whose session is as it was. */
  #current = new WeakSet<PoolClient>();

  constructor(pool: Pool, options: OwnPoolOptions = {}) {
    this.#pool = pool;
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs;
    const { watch, refused = () => this.renew() } = options;
    this.#refused = refused;
    pool.on('connect', (client) => {
      this.#current.add(client);
      if (!watch) return;
      const left = (words: string): void => {
        this.#current.delete(client);
        watch.left?.(words);
      };
      watchSession(client, { ...watch, left: watch.left && left });
    });
    this.line = new ConnectionLine({
      max: pool.options.max,
      open: this.#open,
      keep: (client) => client.release(),
      isFinal: options.isFinal,
      shared: options.shared,
    });
  }

  /** Those that are open, or being opened. */
  get count(): number {
    return this.#pool.totalCount;
  }

  /** True when no more are made. */
  get ending(): boolean {
    return this.#pool.ending;
  }

  /**
   * Lends a connection, which is given back by its `release()`.
   *
   * @param patienceMs how long it waits for open connections while no more can be opened
   */
  connect(patienceMs = this.#patienceMs): Promise<PoolClient> {
    return this.line.take(patienceMs);
  }

  /** Runs one statement. */
  query<R extends Row = Row>(
    query: string | OwnQuery,
    values: unknown[] = [],
    patienceMs = this.#patienceMs,
  ): Promise<QueryResult<R>> {
    const own = typeof query === 'string' ? { text: query, values, types: ownTypes } : query;
    return queryOn(this.connect(patienceMs), own);
  }

  /** From now on only new connections are lent: those that are open may be to a server that another one has replaced. */
  renew(): void {
    this.#current = new WeakSet();
  }

  /** Closes those that are idle, and the others as they come back; resolves when none is left. */
  end(): Promise<void> {
    this.line.close(new Error('Cannot use a pool after calling end on the pool'));
    return this.#pool.end();
  }

  /** The pool sets \`release()\` anew whenever it lends a connection. */
  readonly #open = async (): Promise<PoolClient> => {
    const client = await this.#pool.connect();
    if (!this.#current.has(client)) {
      client.release(true);
      return this.#open();
    }
    const release = client.release.bind(client);
    client.release = (error) => {
      if (error && isReadOnlyError(error)) this.#refused();
      const isGone = Boolean(error) || !this.#current.has(client);
      release(isGone ? (error ?? true) : error);
      this.line.back(client, isGone);
    };
    return client;
  };
}

/** Runs one statement on a connection that is lent for it. One on which a statement failed is not used again. */
export async function queryOn<R extends Row = Row>(
  lent: Promise<PoolClient>,
  query: OwnQuery,
): Promise<QueryResult<R>> {
  const client = await lent;
  try {
    const answer = await client.query<R>(query);
    client.release();
    return answer;
  } catch (error) {
    client.release(error as Error);
    throw error;
  }
}

/**
 * Looks at what is said on a connection, whoever says it: tells what leaves something in its session, and cuts it when a statement
 * of the library's, which leaves nothing, is not answered.
 */
function watchSession(client: Client, { left, isAtWork, silent }: SessionWatch): void {
  // Asked for by each statement: what traces statements may be loaded later.
  const { prototype } = Client as unknown as { prototype: { query(...call: unknown[]): unknown } };
  client.query = ((...call: unknown[]): unknown => {
    const given = call[0] as { readonly types?: unknown } | null | undefined;
    if (given?.types === ownTypes) {
      return watchAnswer(prototype.query.apply(client, call) as Promise<unknown>, {
        isAtWork: async () => isAtWork?.(client),
        cut: (reason) => {
          silent();
          client.connection.stream.destroy(reason);
        },
      });
    }
    const words = left && traceOf(textOf(call[0]), 'postgres');
    if (words !== undefined) left?.(words);
    return prototype.query.apply(client, call);
  }) as Client['query'];
}

/** A text, a configuration of a query, or what a library has made to be sent. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text, cursor } = (query ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof text === 'string') return text;
  return cursor === undefined ? '' : textOf(cursor);
}
