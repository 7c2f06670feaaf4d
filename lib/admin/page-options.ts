import { readCount, readOptions } from './admin-input.js';
import type { ListedPage } from '../storage/admin.js';
import { greatestId, idBelow, readId } from '../values/attempt-id.js';

/** Which page, and whether with payloads. */
export interface PageOptions {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
  readonly payload?: boolean | undefined;
}

/** Rows of a page where nothing is said, and at most. */
const defaultPage = 50;
const largestPage = 1_000;

/** @throws {TarefaError} `INPUT_INVALID` */
export function readPage(options: PageOptions): ListedPage {
  const { limit = defaultPage, after, payload = true } = readOptions(options, ['limit', 'after', 'payload']);
  return {
    limit: readCount('limit', limit, largestPage),
    greatest: after === undefined ? greatestId : idBelow(BigInt(readId(after))),
    payload: payload === true,
  };
}
