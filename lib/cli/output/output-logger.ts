import type { LoggerService } from '@nestjs/common';
import { errorStack, errorText } from '../../observability/error-text.js';
import { isError } from '../../values/failure-text.js';
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

/**
 * The queue's lines are objects: their text as `msg`, and what they are about. Nest logs errors as they are: drivers keep
 * rows and parameters in their properties.
 */
function fieldsOf(message: unknown): { readonly msg?: unknown; readonly stack?: string | undefined } {
  if (isError(message)) return { msg: errorText(message), stack: errorStack(message) };
  return typeof message === 'object' && message !== null ? { ...message } : {};
}
