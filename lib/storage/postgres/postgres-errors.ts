import { hasCode } from '../../errors.js';
import type { ErrorKind } from '../error-kind.js';
import { isConnectionError } from './connections/connection-config.js';

/** By the class of an SQLSTATE. */
const classes: ReadonlyMap<string, ErrorKind> = new Map([
  // Data exceptions and broken constraints.
  ['22', 'value'],
  ['23', 'value'],
  // Routines, external routines, views with a check, and what PL/pgSQL raises: triggers and functions of the user's.
  ['38', 'row'],
  ['39', 'row'],
  ['44', 'row'],
  ['P0', 'row'],
]);

/** Of transactions, connections, resources and the server: no fault of a row's, also where a trigger meets it. */
const classesOfServer = new Set(['08', '25', '40', '53', '55', '57', '58', 'XX']);

const codes: ReadonlyMap<string, ErrorKind> = new Map([
  // Another row is in the way, by a unique index of the user's or an id that is taken: no plainer text helps.
  ['23505', 'row'],
  ['57014', 'timeout'],
  ['55P03', 'locked'],
  ['40001', 'retry'],
  ['40P01', 'retry'],
]);

/** Says what an error of PostgreSQL, of its driver or of a lost connection means. */
export function classifyError(error: unknown): ErrorKind {
  if (hasCode(error, 'CONNECTION_LOST') || isConnectionError(error)) return 'connection';
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  if (typeof code !== 'string') return 'other';
  const ofClass = code.slice(0, 2);
  const isOfRow = isOfFunction(error) && !classesOfServer.has(ofClass);
  return codes.get(code) ?? classes.get(ofClass) ?? (isOfRow ? 'row' : 'other');
}

/** True for what a function of the user's has met or raised, under whatever code: a trigger that writes into a table which is gone. */
function isOfFunction(error: unknown): boolean {
  return typeof (error as { readonly where?: unknown }).where === 'string';
}
