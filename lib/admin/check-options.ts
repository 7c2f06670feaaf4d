import type { CheckRequest } from '../storage/inconsistencies.js';
import { longestWaitMs, readDuration, readOptions } from './admin-input.js';
import { readTime } from './task-filter.js';

/** What a check of the table looks at. */
export interface CheckOptions {
  /** Leaves out what ended before. Default: everything. */
  readonly since?: Date | undefined;
  /** The check is given up after this time. Default: never. */
  readonly timeoutMs?: number | undefined;
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCheckOptions(given: unknown): Pick<CheckRequest, 'since' | 'timeoutMs'> {
  const { since, timeoutMs = 0 } = readOptions(given, ['since', 'timeoutMs']);
  return {
    since: since === undefined ? undefined : new Date(readTime('since', since)),
    timeoutMs: readDuration('timeoutMs', timeoutMs, longestWaitMs),
  };
}
