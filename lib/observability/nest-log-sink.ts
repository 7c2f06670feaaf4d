import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import type { LogComponent, LogLevel, LogLine } from './log-line.js';
import type { LogSink } from './log-sink.js';
import { NestLogMessage } from './nest-log-message.js';

/** What Nest keeps for subclasses of its logger: the one that the application uses now. */
class LoggerInUse extends Logger {
  static now(): LoggerService | undefined {
    return LoggerInUse.staticInstanceRef;
  }
}

/**
 * Hands lines to Nest's `Logger`, and so to whatever the application made of it, under a context for each component.
 *
 * How fields travel depends on who takes them, because each logger shows objects in its own way: text of a
 * `ConsoleLogger` stays one line without them; its JSON gets them as `params` (Nest 12; Nest 11 would print them as a line
 * of their own); every other logger gets one object that holds text and fields.
 */
export class NestLogSink implements LogSink {
  readonly #queue: string;
  readonly #loggers = new Map<LogComponent, Logger>();
  /** Loggers that failed to take an object. */
  readonly #textOnly = new WeakSet<LoggerService>();

  constructor(queue: string) {
    this.#queue = queue;
  }

  wants(level: LogLevel): boolean {
    const inUse = LoggerInUse.now();
    return inUse instanceof ConsoleLogger ? inUse.isLevelEnabled(level) : inUse !== undefined;
  }

  write(line: LogLine): void {
    const inUse = LoggerInUse.now();
    if (!inUse) return;
    const logger = this.#loggerOf(line.component);
    if (this.#takesTextOnly(inUse)) return writeText(logger, line);
    if (takesParams(inUse)) return writeParams(logger, line);
    try {
      const { level, text, fields, stack } = line;
      logger[level](new NestLogMessage(text, fields, stack));
    } catch {
      this.#textOnly.add(inUse);
      writeText(logger, line);
    }
  }

  async close(): Promise<void> {}

  #loggerOf(component: LogComponent): Logger {
    const known = this.#loggers.get(component);
    if (known) return known;
    const context = component === 'queue' ? this.#queue : `${this.#queue} ${component}`;
    const logger = new Logger(`Tarefa:${context}`);
    this.#loggers.set(component, logger);
    return logger;
  }

  #takesTextOnly(inUse: LoggerService): boolean {
    if (this.#textOnly.has(inUse)) return true;
    return inUse instanceof ConsoleLogger && optionsOf(inUse).json !== true;
  }
}

interface ConsoleOptions {
  readonly json?: boolean;
  readonly structuredParams?: boolean;
}

/** They are protected, so a subclass sees them, and so does code that asks what the output looks like. */
function optionsOf(logger: ConsoleLogger): ConsoleOptions {
  return (logger as unknown as { readonly options?: ConsoleOptions }).options ?? {};
}

/** JSON of Nest 12. */
function takesParams(logger: LoggerService): boolean {
  return (
    logger instanceof ConsoleLogger &&
    'stringifyParams' in logger &&
    optionsOf(logger).structuredParams !== false
  );
}

function writeParams(logger: Logger, { level, text, fields, stack }: LogLine): void {
  if (stack === undefined) logger[level](text, fields);
  else if (level === 'error') logger.error(text, fields, stack);
  else logger[level](text, { ...fields, stack });
}

function writeText(logger: Logger, { level, text, stack }: LogLine): void {
  if (stack === undefined) logger[level](text);
  else if (level === 'error') logger.error(text, stack);
  else logger[level](`${text}\n${stack}`);
}
