import { TarefaError } from '../errors.js';
import { shownValue } from './shown-value.js';

/** What the column of ids can hold. Sequences begin at 1, but SQL may insert any of them. */
export const [leastId, greatestId] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The id before that one; the least id itself has none. */
export function idBelow(id: bigint): bigint {
  return id > leastId ? id - 1n : leastId;
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readId(id: unknown): string {
  if (typeof id === 'string' && /^-?\d{1,19}$/.test(id) && isId(BigInt(id))) return id;
  throw new TarefaError(
    'INPUT_INVALID',
    `${shownValue(id)} is not an attempt id: ids are whole numbers as text`,
  );
}

function isId(number: bigint): boolean {
  return number >= leastId && number <= greatestId;
}
