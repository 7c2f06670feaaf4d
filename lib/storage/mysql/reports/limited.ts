import type { OwnPool } from '../connections/own-pool.js';
import type { Run } from '../connections/transactions.js';

/** People who look wait at most this long for an answer. */
export const lookMs = 10_000;

/**
 * Sets what each server calls its limit of a statement; the other one takes that for a comment. Also how long a statement waits
 * for one that changes the table, and that MySQL reads the size of a table again.
 */
const limits = (ms: number): string => `-- name: set_limits
set session lock_wait_timeout = ${Math.max(1, Math.ceil(ms / 1_000))}
  /*M! , max_statement_time = ${ms / 1_000} */
  /*!80000 , max_execution_time = ${Math.max(1, Math.round(ms))}, information_schema_stats_expiry = 0 */`;

const noLimits = `-- name: end_limits
set session lock_wait_timeout = default
  /*M! , max_statement_time = default */
  /*!80000 , max_execution_time = default, information_schema_stats_expiry = default */`;

/** Runs work whose statements may each take that long, on a connection of the library's. 0: as long as they take. */
export function limited<T>(
  own: Pick<OwnPool, 'use'>,
  timeoutMs: number,
  work: (run: Run) => Promise<T>,
): Promise<T> {
  return own.use(async (run, connection) => {
    if (timeoutMs === 0) return work(run);
    await run(limits(timeoutMs));
    try {
      return await work(run);
    } finally {
      // Those who come after would have them as well.
      await run(noLimits).catch(() => connection.destroy());
    }
  });
}
