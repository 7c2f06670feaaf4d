import type { LoggerService } from '@nestjs/common';
import type { Output } from './output.js';

type Level = 'log' | 'warn' | 'error' | 'debug' | 'fatal';

/** Nest's own lines are left out: the command itself reports what fails. */
const silentContexts: ReadonlySet<unknown> = new Set([
  'NestFactory',
  'NestApplication',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'ExceptionHandler',
]);

/** Nest's logger on a command's output: a line of text each, or of JSON with `--json`. */
export function outputLogger(output: Output): LoggerService {
  const write =
    (level: Level) =>
    (message: unknown, ...more: unknown[]): void => {
      const context = more.at(-1);
      if (silentContexts.has(context)) return;
      const time = new Date().toISOString();
      const { msg = message, ...fields } = fieldsOf(message);
      output.jsonLine({ time, level, context, message: msg, ...fields });
      output.line(`${time} ${level.toUpperCase().padEnd(5)} ${String(context)}: ${String(msg)}`);
    };
  return {
    log: write('log'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
    // Whether there is any is for `LOG_DEBUG` to say.
    debug: write('debug'),
    verbose: () => undefined,
  };
}

/** The queue's lines are objects: their text as `msg`, and what they are about. */
function fieldsOf(message: unknown): { readonly msg?: unknown } {
  return typeof message === 'object' && message !== null ? { ...message } : {};
}
