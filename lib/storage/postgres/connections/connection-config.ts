import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, type PoolConfig } from 'pg';
import { TarefaError } from '../../../errors.js';
import { misreadUrl } from '../../../options/check-connection.js';
import type { PostgresConnection, PostgresPool } from '../../../options/postgres-connection.js';

/**
 * What stands between us and a database. `direct`: nothing. `shared`: a pooler that hands one server connection to
 * several clients in turn, seen doing so. `pooled`: a pooler that was not seen doing so, and may anyway.
 */
export type Reach = 'direct' | 'pooled' | 'shared';

/**
 * The configuration behind a connection. The library opens its own connections from it: a pool of the user's
 * is only read, never borrowed from, because sessions here are set up in their own way.
 */
export function connectionConfig(connection: PostgresConnection): ClientConfig {
  const config: PoolConfig =
    typeof connection === 'string'
      ? { connectionString: connection }
      : isPool(connection)
        ? connection.options
        : connection;
  const { max: _max, min: _min, idleTimeoutMillis: _idle, ...rest } = config;
  const { password, ssl } = config;
  return {
    // A lost peer must be noticed on this side too; the other side is told by `sessionSettings`.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 10_000,
    ...rest,
    // A pool hides it from being copied.
    ...(password === undefined ? {} : { password }),
    ...(typeof ssl === 'object' && { ssl: wholeTls(ssl) }),
  };
}

/** `pg` hides a certificate's key from being copied, in the very object that it was given. So each of our connections has its own. */
function wholeTls(tls: ConnectionOptions): ConnectionOptions {
  return tls.key === undefined ? { ...tls } : { ...tls, key: tls.key };
}

/** A key that is equal for connections to the same database as the same user. Holds no secret. */
export function connectionKey(connection: PostgresConnection): string {
  const client = new Client(connectionConfig(connection));
  return JSON.stringify([client.host, client.port, client.database, client.user]);
}

/** Why a connection cannot be used as it is written, or undefined. Never shows the value: it may hold a password. */
export function connectionProblem(connection: PostgresConnection): string | undefined {
  try {
    connectionKey(connection);
    return undefined;
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    return path === undefined ? misreadUrl : `names a file that cannot be read: ${path} (${code})`;
  }
}

/**
 * Set on every connection of ours. A peer that is gone is noticed within 60 s; READ COMMITTED is what the
 * statements are written for, whatever the database's default is, as are the formats in which they are told values and names. Some of
 * them are idle for as long as nothing happens; before version 14 no setting ends those.
 */
export const sessionSettings = `
set tcp_keepalives_idle = 20;
set tcp_keepalives_interval = 10;
set tcp_keepalives_count = 3;
set tcp_user_timeout = 50000;
set default_transaction_isolation = 'read committed';
set datestyle = 'ISO';
set extra_float_digits = 1;
set array_nulls = on;
set quote_all_identifiers = off;
select set_config('idle_session_timeout', '0', false) where current_setting('server_version_num')::int >= 140000`;

/**
 * Set on connections that read the queue's tables. Where a policy would hide rows, a statement fails instead: a task, a pause or a
 * subscription that is not seen would be missed without a word.
 */
export const tableSettings = `${sessionSettings};
set row_security = off`;

/** Begins a handler's transaction on such a connection: to the tables of its own its policies apply as everywhere. */
const beginDirect = 'begin; set local row_security to default';
const beginPooled = 'begin isolation level read committed';
/** It asks nothing, so that the handler may still choose its isolation level. */
const quietly = `; set local tarefa.quiet = 'on'`;

const begins: ReadonlySet<unknown> = new Set(
  [beginDirect, beginPooled].flatMap((begin) => [begin, begin + quietly]),
);

/**
 * How a handler's transaction begins.
 *
 * @param quiet whether what it inserts rings for nobody
 */
export function beginHandler(reach: Reach, quiet = false): string {
  const begin = reach === 'direct' ? beginDirect : beginPooled;
  return quiet ? begin + quietly : begin;
}

/** True for what {@link beginHandler} returns. */
export function isBegin(query: unknown): boolean {
  return begins.has(query);
}

/**
 * Set on the connection that settles and claims. Plans made on the empty table of a first start would stay, so
 * the indexes meant for its statements are enforced; generic plans save planning (+53% for single-row claims).
 * No compilation: the disabled nodes' costs would trigger it.
 */
export const controlSettings = `${tableSettings};
set plan_cache_mode = force_generic_plan;
set enable_seqscan = off;
set enable_bitmapscan = off;
set enable_sort = off;
set jit = off;
set lock_timeout = '5s';
set standard_conforming_strings = on`;

/** True when a failed query says that its connection is gone, so that its outcome is unknown. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    // Class 08: connection; 57P0x: shut down, crashed, not yet started; the rest are errors of sockets.
    return code.startsWith('08') || code.startsWith('57P') || socketErrors.has(code);
  }
  return /connection (terminated|error|ended)|not queryable|timeout exceeded when trying to connect|timeout expired/i.test(
    error.message,
  );
}

/**
 * True when a statement was refused because the server, or the session, only reads: the one we are connected to may
 * have been replaced, so the connection is not worth keeping.
 */
export function isReadOnlyError(error: unknown): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === '25006';
}

const socketErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** What is said of a connection that was lost. */
export const noAnswer = 'the database did not answer';

/** Makes a connection error ours, with its cause; other errors pass unchanged. */
export function wrapConnectionError(error: unknown, what: string): unknown {
  if (!isConnectionError(error)) return error;
  return new TarefaError('CONNECTION_LOST', `${what}: ${messageOf(error)}`, { cause: error });
}

/** A host with several addresses fails with an error for each, and no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** A pool, also one made by another copy of `pg` than ours. */
function isPool(connection: object): connection is PostgresPool {
  return 'options' in connection && 'connect' in connection && typeof connection.connect === 'function';
}
