/** How a worker works. Resolved from the queue's options; all durations in ms unless named otherwise. */
export interface WorkerOptions {
  /** Attempts that run at once. */
  readonly concurrency: number;
  readonly maxAttempts: number;
  /** Of one attempt. */
  readonly maxSnoozes: number;
  /** Multiplied by the attempt's number, counted from when the attempt was due. */
  readonly retryIntervalMinutes: number;
  /** Bytes of a payload's text. */
  readonly maxPayloadBytes: number;
  /** How often to look without a ring; 0 never. */
  readonly pollIntervalMs: number;
  /** How often it polls while something was found lately; undefined where rings tell of everything. */
  readonly busyPollMs?: number | undefined;
  /** True when a timer starts scheduled tasks on time; else the notify routine does at its minutes. */
  readonly scheduledTimer: boolean;
  /** Which task is next: the best of all, or of each route in turn. */
  readonly order: 'age' | 'fair';
  readonly unknownTasks: 'fail' | 'leave';
  /** `nsj` when workers of nsj-queue-lib serve the same table. */
  readonly interop: 'nsj' | undefined;
  /** True when the notification HALT alone stops the worker, from any sender. */
  readonly halt: boolean;
  /** The event loop may stand still for so long; 0 however long. */
  readonly maxLoopDelayMs: number;
  /** True when nothing is claimed while the event loop is later than that. */
  readonly pauseWhileBlocked: boolean;
  readonly shutdownTimeoutMs: number;
  /** Undefined when lost workers are only recovered by the retry routine at its minutes. */
  readonly recovery: RecoveryOptions | undefined;
}

/** How lost workers are found. */
export interface RecoveryOptions {
  /** Pause between two checks. */
  readonly intervalMs: number;
  /** A worker is declared lost only if two checks, at least this far apart, both find it missing. */
  readonly confirmMs: number;
  /** For this long after the server started, or after this worker reconnected, no worker is declared lost. */
  readonly graceMs: number;
}
