import type { CheckRequest } from '../storage/inconsistencies.js';
import { longestWaitMs, readCount, readDuration, readOptions } from './admin-input.js';
import { readTime } from './task-filter.js';

/** What a check of the table looks at. */
export interface CheckOptions {
  /** Leaves out what ended before. Default: everything. */
  readonly since?: Date | undefined;
  /** Looks only at so many of the newest ids, which takes milliseconds whatever the size of the table. Default: all. */
  readonly newest?: number | undefined;
  /** The check is given up after this time. Default: never. */
  readonly timeoutMs?: number | undefined;
}

/** More than that are for a check of everything. */
export const mostNewest = 1_000_000;

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCheckOptions(given: unknown): Omit<CheckRequest, 'purgeMaxAgeDays'> {
  const { since, newest, timeoutMs = 0 } = readOptions(given, ['since', 'newest', 'timeoutMs']);
  return {
    since: since === undefined ? undefined : new Date(readTime('since', since)),
    newest: newest === undefined ? undefined : readCount('newest', newest, mostNewest),
    timeoutMs: readDuration('timeoutMs', timeoutMs, longestWaitMs),
  };
}
