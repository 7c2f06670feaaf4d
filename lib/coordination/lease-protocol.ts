/** The thread of a database that renews leases, and what it needs to connect: plain values only. */
export interface LeaseThread {
  readonly module: URL;
  readonly database: unknown;
}

/** What the thread that renews a lease is told when it starts. */
export interface LeaseOrders {
  readonly database: unknown;
  readonly workerId: string;
  readonly renewMs: number;
  readonly leaseMs: number;
  /** Written by the thread, read by the worker: when the last good renewal was sent, by `process.hrtime`. */
  readonly renewedAt: SharedArrayBuffer;
  /** True of a thread that takes the place of one that ended: its first good renewal is a return. */
  readonly wasLost: boolean;
}

/** What the thread tells: each renewal that fails, and the first good one after that. */
export type LeaseReport = { readonly type: 'failed'; readonly error: Error } | { readonly type: 'restored' };
