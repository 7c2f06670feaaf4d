import { hasCode } from '../../errors.js';
import type { ErrorKind } from '../error-kind.js';

/** By the server's number of the error. */
const kinds: ReadonlyMap<number, ErrorKind> = new Map([
  // Values that a column does not take: too long, of a wrong kind, out of range, no JSON.
  ...[1406, 1366, 1264, 1292, 1265, 1048, 1364, 1690, 1411, 3140, 3141, 3144, 4038, 1301, 1300].map(
    (number) => [number, 'value'] as const,
  ),
  // The text is larger than the server takes.
  [1153, 'value'],
  // What triggers of the user's raise, broken checks and foreign keys, and another row in the way by a unique index.
  ...[1062, 1644, 3819, 4025, 1451, 1452].map((number) => [number, 'row'] as const),
  // A time limit: MySQL's, MariaDB's, and one that a person has set by KILL QUERY.
  ...[3024, 1969, 1317].map((number) => [number, 'timeout'] as const),
  ...[1205, 3572].map((number) => [number, 'locked'] as const),
  // A deadlock; a row, or a table, that changed since a snapshot; a Galera node that is not ready.
  ...[1213, 1020, 1412, 1047].map((number) => [number, 'retry'] as const),
]);

/** Numbers with which a server ends a connection, or answers on one that it has ended. */
const connectionNumbers = new Set([1053, 1040, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 4031]);

const connectionCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_ENQUEUE_AFTER_QUIT',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** What SIGNAL of a trigger raises, whatever number it gives. */
const signalState = '45000';

interface DriverError {
  readonly errno?: unknown;
  readonly sqlState?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** True when a failed statement says that its connection is gone, so that its outcome is unknown. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { errno, code, message } = error as DriverError;
  return (
    (typeof errno === 'number' && connectionNumbers.has(errno)) ||
    (typeof code === 'string' && connectionCodes.has(code)) ||
    /closed state|connection (lost|closed)/i.test(String(message))
  );
}

/** True where the server only reads: the one we are connected to may have been replaced, so the connection is not worth keeping. */
export function isReadOnlyError(error: unknown): boolean {
  const { errno } = (error ?? {}) as DriverError;
  return errno === 1290 || errno === 1792 || errno === 1836;
}

/** True where the whole transaction is worth another try. */
export function isRetryable(error: unknown): boolean {
  const kind = classifyError(error);
  return kind === 'retry' || kind === 'locked';
}

/** Says what an error of the server, of its driver or of a lost connection means. */
export function classifyError(error: unknown): ErrorKind {
  if (hasCode(error, 'CONNECTION_LOST') || isConnectionError(error)) return 'connection';
  const { errno, sqlState } = (error ?? {}) as DriverError;
  if (sqlState === signalState) return 'row';
  return (typeof errno === 'number' && kinds.get(errno)) || 'other';
}
