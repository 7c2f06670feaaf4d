import type { LogLine } from './log-line.js';

/** Where a queue's lines go: Nest's logger, Loki, or what else may come. */
export interface LogSink {
  /** Takes a line, whose texts are clean. Returns at once, whatever becomes of it. */
  write(line: LogLine): void;
  /** Writes out what it still holds, within a few seconds. Idempotent; never rejects. */
  close(): Promise<void>;
}
