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
  /** After that time, counted from the start of its handler; undefined: never for that. */
  readonly afterMs: number | undefined;
  /** So long after it has seen that what the worker runs was cancelled. */
  readonly cancelGraceMs: number;
  /** Written by the process: a {@link handlerPhase}, in 32 bits. */
  readonly phase: SharedArrayBuffer;
}

/** How far the handler of a guarded process is. Once it has ended the process is left alone. */
export const handlerPhase = { waits: 0, runs: 1, ended: 2 } as const;

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

/** How often the thread looks whether the handler runs. */
const phaseMs = 100;

/** Ends the process of the thread by force when the time of its handler is over, which begins when that runs. */
export function limitHandler(guard: ProcessGuard): void {
  const { afterMs } = guard;
  if (afterMs === undefined) return;
  const watch = setInterval(() => {
    if (phaseOf(guard) === handlerPhase.waits) return;
    clearInterval(watch);
    endProcessIn(afterMs, guard);
  }, phaseMs).unref();
}

/** Ends the process of the thread by force, unless its handler has ended: code that never lets the event loop run hears of nothing else. */
export function endProcessIn(ms: number, guard: ProcessGuard): void {
  const end = (): void => {
    // What waits for the database to record how it has ended is over.
    if (phaseOf(guard) !== handlerPhase.ended) process.kill(process.pid, 'SIGKILL');
  };
  setTimeout(end, ms).unref();
}

function phaseOf({ phase }: ProcessGuard): number {
  return Atomics.load(new Int32Array(phase), 0);
}
