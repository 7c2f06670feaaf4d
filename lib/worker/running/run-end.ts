import type { RecordedReturn } from './handler-context.js';

/** How one run of an attempt's handler ended. `Conclusion` turns it into the attempt's outcome. */
export type RunEnd =
  /** Succeeded, and to be written: it has no transaction of its own. */
  | { readonly kind: 'succeeded'; readonly recorded: RecordedReturn }
  /** Succeeded in its own transaction, which has committed. */
  | { readonly kind: 'committed'; readonly recorded: RecordedReturn }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Failed by its timeout, while its handler still runs until `handlerEnded`. */
  | { readonly kind: 'timed out'; readonly error: Error; readonly handlerEnded: Promise<void> }
  /** Whether its transaction committed `recorded`, and whose it is, has to be read; it failed with `error` when it is ours and did not. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly recorded: RecordedReturn | undefined }
  /** Its work was undone because of another task of its group: it runs again in a transaction of its own. */
  | { readonly kind: 'undone' }
  /** Another worker, which this one has started, runs it from now on. */
  | { readonly kind: 'handed over' }
  /** Told to stop before its turn came: another worker may run it. */
  | { readonly kind: 'not started' };
