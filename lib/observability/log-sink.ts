import type { LogLevel, LogLine } from './log-line.js';

/** Where a queue's lines go: Nest's logger, Loki, or what else may come. */
export interface LogSink {
  /** False where lines of that level would be thrown away: they need not be made. */
  wants(level: LogLevel): boolean;
  /** Takes a line, whose texts are clean. Returns at once, whatever becomes of it. */
  write(line: LogLine): void;
  /** Writes out what it still holds, within a few seconds. Idempotent; never rejects. */
  close(): Promise<void>;
}
