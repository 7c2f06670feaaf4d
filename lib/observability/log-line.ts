/** Levels of lines, as Nest's `Logger` has methods for them. */
export type LogLevel = 'debug' | 'log' | 'warn' | 'error';

/** Parts of a queue that lines are about; each has a logger context of its own. */
export type LogComponent =
  'queue' | 'worker' | 'tasks' | 'routines' | 'webhooks' | 'tenants' | 'connection' | 'dashboard' | 'logs';

/**
 * What a line says besides its text, for programs. Ids and numbers, never payloads; what is undefined or null is left out.
 * Names that loggers use themselves (`message`, `msg`, `level`, `context`, `time`) are none of them.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One line of a queue's log, before it is written anywhere. */
export interface LogLine {
  readonly level: LogLevel;
  readonly component: LogComponent;
  /** For people, in one line. */
  readonly text: string;
  readonly fields: LogFields;
  /** Where an error came from: frames, a line each. */
  readonly stack?: string | undefined;
}
