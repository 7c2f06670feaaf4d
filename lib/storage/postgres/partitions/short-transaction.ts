import { setTimeout as pause } from 'node:timers/promises';
import type { SqlHandle } from '../../sql-handle.js';

/** Runs its argument inside one transaction. */
export type RunTransaction = <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;

/** While a statement waits for its lock, every statement behind it waits as well. */
const lockTimeout = '100ms';
/** Work under the lock must not take long either. */
const statementTimeout = '3s';
const tries = 10;
const pauseMs = 300;

/** Waiting for a lock, and two that wait for each other. */
const busyCodes = new Set(['55P03', '40P01']);

/**
 * Runs work that locks a table in use: it waits little for its locks, and is tried again a few times. Returns undefined
 * when the table was busy all the time.
 */
export async function shortTransaction<T>(
  run: RunTransaction,
  work: (tx: SqlHandle) => Promise<T>,
): Promise<T | undefined> {
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    if (attempt > 1) await pause(pauseMs * (0.5 + Math.random()), undefined, { ref: false });
    try {
      return await run(async (tx) => {
        await tx.query(
          `set local lock_timeout = '${lockTimeout}'; set local statement_timeout = '${statementTimeout}'`,
        );
        return work(tx);
      });
    } catch (error) {
      if (!busyCodes.has(codeOf(error))) throw error;
    }
  }
  return undefined;
}

/** The error's code in PostgreSQL. */
export function codeOf(error: unknown): string {
  return String((error as { readonly code?: unknown } | undefined)?.code);
}
