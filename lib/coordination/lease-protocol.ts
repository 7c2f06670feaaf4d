/** The thread of a database that renews leases, and what it needs to connect. */
export interface LeaseThread {
  readonly module: URL;
  /** Plain values only, as the configuration of its connection has to be. */
  readonly database: { readonly config: object };
  /** Asked before each connection, where the password is a function: that itself cannot be sent to a thread. */
  readonly password?: (() => Promise<string>) | undefined;
}

/** When the thread that renews a lease ends its process by force. */
export interface ProcessGuard {
  /** After that time; undefined: never for that. */
  readonly afterMs: number | undefined;
  /** So long after it has seen that what the worker runs was cancelled. */
  readonly cancelGraceMs: number;
  /** A number of 32 bits, written by the process: not 0 once its handler has ended, after which it is left alone. */
  readonly handlerEnded: SharedArrayBuffer;
}

/** What the thread that renews a lease is told when it starts. */
export interface LeaseOrders {
  readonly database: unknown;
  /** For its first connection: it asks for that of each further one. Undefined where it stands in the configuration. */
  readonly password: string | undefined;
  readonly workerId: string;
  readonly renewMs: number;
  readonly leaseMs: number;
  /** Written by the thread, read by the worker: when the last good renewal was sent, by `process.hrtime`. */
  readonly renewedAt: SharedArrayBuffer;
  /** Of a detached worker: ends its process, whatever that does. */
  readonly guard?: ProcessGuard | undefined;
  /** True of a thread that takes the place of one that ended: its first good renewal is a return. */
  readonly wasLost: boolean;
}

/** What the thread tells: each renewal that fails, and the first good one after that; that it needs a password. */
export type LeaseReport =
  | { readonly type: 'failed'; readonly error: Error }
  | { readonly type: 'restored' }
  | { readonly type: 'password wanted' };

/** What the thread is told while it runs. */
export type LeaseWord =
  | { readonly type: 'stop' }
  | { readonly type: 'password'; readonly password: string }
  | { readonly type: 'no password'; readonly error: Error };

/** Ends the process of the thread by force, unless its handler has ended: code that never lets the event loop run hears of nothing else. */
export function endProcessIn(ms: number, { handlerEnded }: ProcessGuard): void {
  const end = (): void => {
    // What waits for the database to record how it has ended is over.
    if (Atomics.load(new Int32Array(handlerEnded), 0) === 0) process.kill(process.pid, 'SIGKILL');
  };
  setTimeout(end, ms).unref();
}
