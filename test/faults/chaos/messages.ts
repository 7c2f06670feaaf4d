import type { ArmedPoint } from './failpoints.js';

/** What a worker of the chaos run may be told. */
export type WorkerOrder =
  | { readonly type: 'arm'; readonly point: ArmedPoint }
  | { readonly type: 'disarm' }
  /** Moves the process's clock. */
  | { readonly type: 'skew'; readonly ms: number }
  /** Blocks the event loop. */
  | { readonly type: 'block'; readonly ms: number }
  | { readonly type: 'purge' }
  | { readonly type: 'report'; readonly n: number }
  /** Closes the application; after that nothing may keep the process alive. */
  | { readonly type: 'close' };

/** What it says. */
export type WorkerWord =
  | { readonly type: 'ready'; readonly workerId: string }
  /** A handler has begun to loop: the process can only be killed. */
  | { readonly type: 'looping' }
  /** A point that does not end the process was reached. */
  | { readonly type: 'reached'; readonly point: string }
  | { readonly type: 'blocked' }
  | { readonly type: 'purged'; readonly rows: number }
  | ({ readonly type: 'report'; readonly n: number } & WorkerReport);

/** How a worker stands. */
export interface WorkerReport {
  readonly running: number;
  /** Attempts started since the process began. */
  readonly started: number;
  readonly holding: { readonly open: number; readonly waiting: number };
  /** What keeps the process alive, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}
