import type { Task } from '../task.js';
import { column, readBoolean, readText, type Row } from './columns.js';

/** Who cancels tasks, and why. */
export interface Cancellation {
  /** Null: nobody was named. */
  readonly by: string | null;
  /** Recorded as their message. */
  readonly message: string;
}

/**
 * Which tasks: some, each by the id of any of its attempts, or all of a topic with an external key. Dead tasks have the same key,
 * and are meant by their ids only.
 */
export type CancelTarget =
  { readonly ids: readonly string[] } | { readonly topic: string | null; readonly externalKey: string };

/** Names an attempt that was cancelled. */
export interface CancelledAttempt extends Pick<
  Task,
  'id' | 'firstAttemptId' | 'attempt' | 'topic' | 'subscriptionId' | 'dead'
> {
  /** True for one that was asked to stop: it ends cancelled unless it succeeds. */
  readonly runs: boolean;
}

/** Reads it from its columns, `first_id`, the first attempt's, and whether it `runs`. */
export function readCancelled(row: Row): CancelledAttempt {
  return {
    id: String(row[column.id]),
    firstAttemptId: String(row['first_id']),
    attempt: Number(row[column.attempt] ?? 1),
    topic: readText(row[column.topic]),
    subscriptionId: readText(row[column.subscriptionId]),
    dead: readBoolean(row[column.dead]),
    runs: readBoolean(row['runs']),
  };
}

/** Reads who cancelled an attempt that has just ended, and why; undefined when nobody has. */
export function readEndedBy(row: Row): Cancellation | undefined {
  const by = readText(row[column.cancelledBy]);
  return by === null ? undefined : { by: by || null, message: readText(row[column.message]) ?? '' };
}
