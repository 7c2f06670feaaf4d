import type { ClientConfig } from 'pg';

/** What the thread that renews a lease is told when it starts. */
export interface LeaseOrders {
  readonly config: ClientConfig;
  /** Quoted name of the workers' table. */
  readonly workers: string;
  readonly workerId: string;
  readonly renewMs: number;
  readonly leaseMs: number;
  /** Written by the thread, read by the worker: when the last good renewal was sent, by `process.hrtime`. */
  readonly renewedAt: SharedArrayBuffer;
}

/** What the thread tells, once per change. */
export type LeaseReport = { readonly type: 'lost'; readonly error: Error } | { readonly type: 'restored' };

/**
 * Holds a worker's place for some time more. One that was called lost meanwhile comes back under its id: what it
 * held is not its own any more, as the fence says. Parameters: worker, milliseconds.
 */
export const renewLease = (workers: string): string => `-- name: renew_lease
update ${workers}
set lease_until = clock_timestamp() + $2::float8 * interval '1 millisecond', stopped_at = null
where id = $1::bigint`;
