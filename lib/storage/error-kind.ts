/**
 * What an error of the database means for its caller.
 *
 * - `connection`: the connection is gone, so whether the statement was carried out is unknown.
 * - `value`: a value was refused, or could not be sent; the same again is refused again.
 * - `row`: a rule, such as a trigger or a unique index of the user's, refused a row.
 * - `timeout`: the statement took too long and was cancelled.
 * - `locked`: what it needed stayed locked for too long.
 * - `retry`: it lost to another transaction; the same again may succeed.
 */
export type ErrorKind = 'connection' | 'value' | 'row' | 'timeout' | 'locked' | 'retry' | 'other';

/** True when one row of many may be what the database refused: the others succeed without it. */
export function blamesRow(kind: ErrorKind): boolean {
  return kind === 'value' || kind === 'row';
}
