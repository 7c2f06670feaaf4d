import { TarefaError, type TarefaErrorCode } from '../errors.js';
import { UsageError, type ExitCode } from './command.js';

const badInput: ReadonlySet<TarefaErrorCode> = new Set([
  'OPTIONS_INVALID',
  'INPUT_INVALID',
  'PAYLOAD_TOO_LARGE',
  'PAYLOAD_NOT_SERIALISABLE',
  'PAYLOAD_INVALID',
  'WEBHOOK_SECRET_INVALID',
]);

/** What an error means for who called. */
export function exitOfError(error: unknown): ExitCode {
  if (error instanceof UsageError) return 1;
  return error instanceof TarefaError && badInput.has(error.code) ? 1 : 2;
}

/** What is said of it; the whole of it, with `LOG_DEBUG`. */
export function textOfError(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return String(error);
  if (debug && !(error instanceof UsageError)) return error.stack ?? error.message;
  // The options came from the command line, not from a module.
  const message = error.message.replace('the options of QueueModule', 'these options');
  return message === '' ? error.name : message;
}
