import type { UnfollowedAttempt } from './attempt.js';
import { readText, type Row } from './columns.js';

/**
 * What a queue's table must not hold: an attempt that was to be retried without its next attempt, a task that ran out of attempts
 * without its dead task, a publication with fewer deliveries than it says, and an attempt that runs while no worker holds it.
 */
export type InconsistencyKind = 'no-next-attempt' | 'no-dead-task' | 'missing-deliveries' | 'no-worker';

/** Rows of one kind that must not be there. */
export interface Inconsistency {
  readonly kind: InconsistencyKind;
  readonly count: number;
  /** Attempts, at most ten: the newest, in the order of their ids from the newest. */
  readonly ids: readonly string[];
}

/** What a check looks at. */
export interface CheckRequest {
  /** What has ended is checked when it ended since then; undefined for all. What runs always is. */
  readonly since: Date | undefined;
  /** Of what has ended only so many of the newest ids are checked; undefined for all. */
  readonly newest: number | undefined;
  /** Deliveries of publications that are older may have been purged. */
  readonly purgeMaxAgeDays: number;
  /** How long it may take, in ms; 0 for as long as it takes. */
  readonly timeoutMs: number;
  /** A worker asks: it opens no connection for people who look, which would come on top of its own. */
  readonly ofWorker?: boolean;
}

/** Attempts of one kind that are named. */
export const mostNamed = 10;

const texts: Readonly<Record<InconsistencyKind, readonly [one: string, many: string]>> = {
  'no-next-attempt': [
    'failed attempt is marked as retried, but has no next attempt',
    'failed attempts are marked as retried, but have no next attempt',
  ],
  'no-dead-task': [
    'task ran out of attempts, but has no dead task',
    'tasks ran out of attempts, but have no dead task',
  ],
  'missing-deliveries': [
    'publication has fewer deliveries than its message says',
    'publications have fewer deliveries than their messages say',
  ],
  'no-worker': [
    'attempt is processing, but no registered worker holds it',
    'attempts are processing, but no registered worker holds them',
  ],
};

/** One line for people. */
export function inconsistencyText({ kind, count, ids }: Inconsistency): string {
  const [one, many] = texts[kind];
  return `${count} ${count === 1 ? one : many}: ${ids.join(', ')}${count > ids.length ? ', …' : ''}`;
}

/** Reads a row of `kind` and `id`. */
export function readUnfollowed(row: Row): UnfollowedAttempt {
  return { id: String(row['id']), kind: String(row['kind']) as UnfollowedAttempt['kind'] };
}

/** Reads rows of `kind`, `n` and `ids`, the latter with commas between them. */
export function readInconsistencies(rows: readonly Row[]): readonly Inconsistency[] {
  return rows.map((row) => ({
    kind: String(row['kind']) as InconsistencyKind,
    count: Number(row['n']),
    ids: (readText(row['ids']) ?? '').split(','),
  }));
}
