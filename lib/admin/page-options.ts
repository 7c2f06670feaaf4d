import { readLimit, readOptions } from './admin-input.js';
import { greatestId, idBelow, readId } from './task-filter.js';

/** Which page, and whether with payloads. */
export interface PageOptions {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly payload?: boolean | undefined;
}

/** A page as the statement takes it. */
interface Page {
  /** Ids up to this one. */
  readonly greatest: bigint;
  readonly limit: number;
  readonly payload: boolean;
}

/** Rows of a page where nothing is said, and at most. */
const defaultPage = 50;
const largestPage = 1_000;

/** @throws {TarefaError} `INPUT_INVALID` */
export function readPage(options: PageOptions): Page {
  const { limit = defaultPage, after, payload = true } = readOptions(options, ['limit', 'after', 'payload']);
  return {
    limit: readLimit(limit, largestPage),
    greatest: after === undefined ? greatestId : idBelow(BigInt(readId(after))),
    payload: payload === true,
  };
}
