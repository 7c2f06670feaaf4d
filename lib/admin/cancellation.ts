import { readText } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import type { Cancellation, CancelTarget } from '../storage/cancellation.js';
import { columnLength } from '../storage/columns.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { readId } from '../values/attempt-id.js';
import { readFields } from '../values/read-fields.js';
import { readNote, type EditNote } from './edited-retry.js';
import { readTaskIds } from './task-filter.js';

/** Who cancels, and why. */
export interface BulkCancelOptions {
  /** At most 200 characters. */
  readonly by?: string | null | undefined;
  /** Recorded as the message of what is cancelled. Default: `cancelled`, and by whom. */
  readonly reason?: string | null | undefined;
}

/** Who cancels, why, and in which transaction. */
export interface CancelOptions extends BulkCancelOptions {
  /** The caller's transaction, as inserts take it: the tasks are cancelled when it commits. Default: at once. */
  readonly tx?: SqlHandle | undefined;
}

/**
 * Tasks to cancel: one or at most 1,000, each by the id of any of its attempts, or all of a topic (null: without one) with an
 * external key, deliveries included. Dead tasks have the same key, and are cancelled by their ids.
 */
export type Cancellable =
  string | readonly string[] | { readonly topic: string | null; readonly externalKey: string };

/** What became of tasks that were to be cancelled, by their first attempts. Of several, those that had ended are left out. */
export interface CancelledTasks {
  /** They waited, and have ended. */
  readonly cancelled: readonly string[];
  /** They run, and were asked to stop: `waitFor` tells how they end. */
  readonly stopping: readonly string[];
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCancellable(given: unknown): CancelTarget {
  if (typeof given === 'string') return { ids: [readId(given)] };
  if (isList(given)) return { ids: readTaskIds(given) };
  const { topic, externalKey } = readFields(
    'what to cancel',
    given,
    ['topic', 'externalKey'],
    (name) =>
      `tasks are cancelled by their id, a list of ids, or { topic, externalKey }, not by '${name.slice(0, 100)}'`,
  );
  const key = readText('externalKey', externalKey, columnLength.externalKey);
  if (key === null)
    throw invalid('externalKey must be text: without it every task of the topic would be cancelled');
  if (topic === undefined) throw invalid('topic must be given with externalKey; null for tasks without one');
  return { topic: readText('topic', topic, columnLength.topic), externalKey: key };
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCancellation(given: Readonly<Partial<Record<keyof EditNote, unknown>>>): Cancellation {
  const { by, reason } = readNote(given);
  return { by, message: reason ?? (by ? `cancelled by ${by}` : 'cancelled') };
}

/** A proxy may throw, and is refused when it is read. */
function isList(given: unknown): boolean {
  try {
    return Array.isArray(given);
  } catch {
    return false;
  }
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
