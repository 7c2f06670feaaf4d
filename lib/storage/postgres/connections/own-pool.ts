import {
  Client,
  type CustomTypesConfig,
  type Pool,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
  types,
} from 'pg';
import { watchAnswer, ConnectionLine, defaultPatienceMs, type LineParts } from '../../pooling.js';
import { isBegin, isReadOnlyError, noAnswer, type Reach, wrapConnectionError } from './connection-config.js';
import type { Statement } from '../statement.js';
import { traceOf } from '../../session-traces.js';
import { readDate } from '../../columns.js';
import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { RunTransaction } from '../partitions/short-transaction.js';
import { isRingRefused, runQuietly, withoutRefusedRing } from './without-ring.js';

/** A row as `pg` reads it. */
type Row = Record<string, unknown>;

/** A statement whose answer is read in the library's own way. */
interface OwnQuery extends QueryConfig {
  readonly types: CustomTypesConfig;
}

/**
 * A statement as `pg` takes it, prepared where names stay: not through a pooler, which hands out another server
 * connection each time. Written out because objects that begin with a spread cost 12 µs each on Node 20.
 */
export function asQuery({ name, text }: Statement, reach: Reach, values: readonly unknown[]): OwnQuery {
  return { name: reach === 'direct' ? name : undefined, text, values: [...values], types: ownTypes };
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
  /** How old a connection may become. Default: what the pool says. */
  readonly maxAgeMs?: number | undefined;
}

/** A pool of `pg` of the library's own, whose connections are lent to whoever waits longest: see {@link ConnectionLine}. */
export class OwnPool implements Lender {
  readonly #pool: Pool;
  /** Those who wait for one. */
  readonly line: ConnectionLine<PoolClient>;
  readonly #patienceMs: number;
  readonly #refused: () => void;
  /** Connections that were opened since {@link renew} was asked for last, and whose session is as it was. */
  #current = new WeakSet<Client>();
  /** Gives a connection back to the pool, which sets its `release()` again whenever it lends it. */
  readonly #release = new WeakMap<PoolClient, (isGone: boolean) => void>();

  constructor(pool: Pool, options: OwnPoolOptions = {}) {
    this.#pool = pool;
    this.#patienceMs = options.patienceMs ?? defaultPatienceMs;
    const { watch, maxAgeMs, refused = () => this.renew() } = options;
    this.#refused = refused;
    pool.on('connect', (client) => {
      this.#current.add(client);
      const retire = (): boolean => {
        this.#current.delete(client);
        return this.line.drop(client);
      };
      // As the pool does for those that it has itself; of others whoever uses them is told.
      client.on('error', (error) => {
        if (retire()) pool.emit('error', error, client);
      });
      if (maxAgeMs !== undefined) setTimeout(retire, maxAgeMs).unref();
      if (!watch) return;
      const left = (words: string): void => {
        retire();
        watch.left?.(words);
      };
      watchSession(client, { ...watch, left: watch.left && left });
    });
    this.line = new ConnectionLine({
      max: pool.options.max,
      open: this.#open,
      keep: (client) => this.#release.get(client)?.(!this.#current.has(client)),
      isUsable: (client) => this.#current.has(client),
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
    this.line.tidy();
  }

  /** Closes those that are idle, and the others as they come back; resolves when none is left. */
  end(): Promise<void> {
    this.line.close(new Error('Cannot use a pool after calling end on the pool'));
    return this.#pool.end();
  }

  readonly #open = async (): Promise<PoolClient> => {
    const client = await this.#pool.connect();
    if (!this.#current.has(client)) {
      client.release(true);
      return this.#open();
    }
    this.#release.set(client, client.release.bind(client));
    client.release = (error) => {
      if (error && isReadOnlyError(error)) this.#refused();
      if (error) this.#current.delete(client);
      this.line.back(client);
    };
    return client;
  };
}

/** Runs one statement on a connection that is lent for it. One on which a statement failed is not used again. */
async function queryOn<R extends Row = Row>(
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

/** Runs work in a transaction of its own on a connection of a pool. One whose transaction failed is not used again. */
export async function inTransaction<T>(lender: Lender, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  const client = await lender.connect();
  const handle = ownHandle(client);
  try {
    await handle.query('begin');
    const result = await work(handle);
    await handle.query('commit');
    client.release();
    return result;
  } catch (error) {
    await handle.query('rollback').catch(() => undefined);
    client.release(error instanceof TarefaError ? undefined : (error as Error));
    throw error;
  }
}

/** Statements of the library on a connection whose types an application may read in its own way. */
export function ownHandle(client: PoolClient): SqlHandle {
  return {
    query: (text, values) => client.query<Record<string, unknown>>({ text, values, types: ownTypes }),
  };
}

/** What the library inserts through, and makes single changes. */
export interface InsertConnections {
  /** Each statement commits by itself. */
  readonly inserts: SqlHandle;
  /** Runs work in a transaction of its own. */
  readonly inOwnTransaction: RunTransaction;
}

/** Texts that are prepared. Those with filters have many forms, and each would stay in every session for good. */
const mostPrepared = 200;

/** Statements are prepared once per connection, by their text, where that is ours alone. */
export function insertConnections(
  pool: OwnPool,
  spare: OwnPool | undefined,
  reach: Reach,
): InsertConnections {
  const lender = lenderForInserts(pool, spare);
  const run: RunTransaction = (work) => inTransaction(lender, work);
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    if (reach === 'direct' && !names.has(text) && names.size < mostPrepared) {
      names.set(text, `tarefa_client_${names.size}`);
    }
    return names.get(text);
  };
  const inserts: SqlHandle = {
    query: async (text, values = []) => {
      try {
        return await queryOn(lender.connect(), { name: nameOf(text), text, values, types: ownTypes });
      } catch (error) {
        if (!isRingRefused(error)) throw wrapConnectionError(error, noAnswer);
        return runQuietly(run, (tx) => tx.query(text, values)).catch((reason: unknown) => {
          throw wrapConnectionError(reason, noAnswer);
        });
      }
    },
  };
  return { inserts, inOwnTransaction: withoutRefusedRing(run) };
}

/**
 * While others hold the whole pool, the spare connection; where that cannot be opened, the pool after all. Not for ever: who
 * inserts may be what holds it.
 */
function lenderForInserts(pool: OwnPool, spare: OwnPool | undefined): Lender {
  if (!spare) return pool;
  const instead = (error: Error): Promise<PoolClient> => lentWithin(pool.connect(), defaultPatienceMs, error);
  return { connect: () => (pool.line.isExhausted ? spare.connect().catch(instead) : pool.connect()) };
}

/** What is lent in time; what comes later goes back. */
function lentWithin(lending: Promise<PoolClient>, mostMs: number, reason: Error): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      reject(reason);
    }, mostMs);
    lending
      .then((client) => (isLate ? client.release() : resolve(client)), reject)
      .finally(() => clearTimeout(late));
  });
}

/**
 * Looks at what is said on a connection, whoever says it: tells what leaves something in its session, and cuts it when a statement
 * of the library's, which leaves nothing, is not answered.
 */
function watchSession(client: Client, { left, isAtWork, silent }: SessionWatch): void {
  // Asked for by each statement: what traces statements may be loaded later.
  const { prototype } = Client as unknown as { prototype: { query(...call: unknown[]): unknown } };
  client.query = ((...call: unknown[]): unknown => {
    if (isOwn(call[0])) {
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

/** True for a statement of the library's. `pg` copies those that are no text: 2 µs of each. */
function isOwn(query: unknown): boolean {
  return isBegin(query) || (query as { readonly types?: unknown } | null | undefined)?.types === ownTypes;
}

/** A text, a configuration of a query, or what a library has made to be sent. */
function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { text, cursor } = (query ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof text === 'string') return text;
  return cursor === undefined ? '' : textOf(cursor);
}

type ReadText = (text: string) => unknown;

const { BOOL, INT2, INT4, OID, FLOAT4, FLOAT8, TIMESTAMPTZ, JSON: json, JSONB } = types.builtins;

/** The types of which statements of the library read more than the text; `pg` has no name for arrays of it. */
const readers: Readonly<Record<number, ReadText>> = {
  [BOOL]: (text) => text === 't',
  [INT2]: Number,
  [INT4]: Number,
  [OID]: Number,
  [FLOAT4]: Number,
  [FLOAT8]: Number,
  [TIMESTAMPTZ]: readDate,
  [json]: JSON.parse,
  [JSONB]: JSON.parse,
  1009: readTextArray,
};

/**
 * How answers to statements of the library are read. An application may have taught its `pg` to read types in another way
 * (`types.setTypeParser`, or `types` in the configuration that is given as the connection): that is for its own statements, those
 * of its handlers included.
 */
export const ownTypes: CustomTypesConfig = {
  getTypeParser: (type: number) => readers[type] ?? String,
};

/** Reads an array of texts without arrays in it. */
function readTextArray(text: string): readonly (string | null)[] {
  const elements = text.matchAll(/"((?:[^"\\]|\\.)*)"|([^{},]+)/gs);
  return Array.from(elements, ([, quoted, plain = null]) =>
    quoted === undefined ? (plain === 'NULL' ? null : plain) : quoted.replace(/\\(.)/gs, '$1'),
  );
}
