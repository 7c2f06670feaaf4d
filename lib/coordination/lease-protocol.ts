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
}

/** What the thread tells, once per change. */
export type LeaseReport = { readonly type: 'lost'; readonly error: Error } | { readonly type: 'restored' };
