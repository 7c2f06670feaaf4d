import type { SqlHandle } from '../../sql-handle.js';
import type { RunTransaction } from '../partitions/short-transaction.js';

/**
 * True when a transaction may have been refused because the queue of NOTIFY is full. PostgreSQL says the same of other limits,
 * which are met again without the notification.
 */
export function isRingRefused(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === '54000';
}

/**
 * On PostgreSQL 18 the queue stays full after the listener has gone that filled it, until somebody asks how full it is.
 * The setting keeps triggers and statements of ours from ringing.
 */
export const quietly = `select pg_notification_queue_usage(); set local tarefa.quiet = 'on'`;

/** Runs a transaction in which nothing of ours rings: it is a convenience, and polls find what it was about. */
export function runQuietly<T>(run: RunTransaction, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  return run(async (tx) => {
    await tx.query(quietly);
    return work(tx);
  });
}

/** Runs transactions; one whose ring is refused is run again without. */
export function withoutRefusedRing(run: RunTransaction): RunTransaction {
  return async (work) => {
    try {
      return await run(work);
    } catch (error) {
      if (!isRingRefused(error)) throw error;
      return runQuietly(run, work);
    }
  };
}
