import { errorTable, TarefaError, type TarefaErrorCode } from '../../errors.js';
import { HandlerRefusal } from '../../subscribers/handler-refusal.js';
import { failureDetail, isError, type PropertiesOf } from '../../values/failure-text.js';
import { safely } from '../../values/safely.js';
import { shownValue } from '../../values/shown-value.js';

/** What was thrown, in a form that a thread can send: of an error its class's name, its stack and its causes, not its class. */
export type SerializedError =
  | {
      readonly kind: 'error';
      readonly name: string;
      readonly message: string;
      readonly stack: string | undefined;
      /** True of one that a guard, pipe or schema has raised. */
      readonly isRefusal: boolean;
      /** What decides over the next attempt, and what the option `errorProperties` names. */
      readonly fields: Readonly<Record<string, unknown>>;
      readonly cause: SerializedError | undefined;
      readonly errors: readonly SerializedError[];
    }
  /** No error: its text. */
  | { readonly kind: 'value'; readonly text: string };

const deepest = 8;
const mostOfOne = 5;

/** Makes of what was thrown what can be sent. Never throws. */
export function serializeError(
  error: unknown,
  propertiesOf: PropertiesOf = () => ({}),
  level = 0,
): SerializedError {
  const indescribable: SerializedError = { kind: 'value', text: `the handler threw ${shownValue(error)}` };
  return safely((): SerializedError => {
    if (!isError(error)) return { kind: 'value', text: failureDetail(error, propertiesOf) };
    // Its type says text, but an error may carry any value.
    const { message, cause, errors }: { message: unknown; cause?: unknown; errors?: unknown } = error;
    const below = (one: unknown): SerializedError => serializeError(one, propertiesOf, level + 1);
    const isDeepest = level >= deepest;
    return {
      kind: 'error',
      name: error.name === 'Error' ? error.constructor.name : error.name,
      message: String(message),
      stack: typeof error.stack === 'string' ? error.stack : undefined,
      isRefusal: error instanceof HandlerRefusal,
      fields: { ...safely(() => propertiesOf(error), {}), ...decisiveFields(error) },
      cause: cause === undefined || isDeepest ? undefined : below(cause),
      errors: Array.isArray(errors) && !isDeepest ? errors.slice(0, mostOfOne).map(below) : [],
    };
  }, indescribable);
}

/** Makes an error of its serialized form: one of ours has its class again, others have the name of theirs. */
export function deserializeError(serialized: SerializedError): unknown {
  if (serialized.kind === 'value') return serialized.text;
  const { name, message, stack, fields, cause, errors } = serialized;
  const options = cause && { cause: deserializeError(cause) };
  const error =
    errors.length > 0
      ? new AggregateError(errors.map(deserializeError), message, options)
      : ours(serialized, options);
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true });
  if (stack !== undefined) Object.defineProperty(error, 'stack', { value: stack, configurable: true });
  return Object.assign(error, fields);
}

function ours(
  { name, message, fields, isRefusal }: SerializedError & { kind: 'error' },
  options?: ErrorOptions,
): Error {
  const { code } = fields;
  if (name !== 'TarefaError' || typeof code !== 'string' || !(code in errorTable))
    return new Error(message, options);
  return isRefusal && (code === 'HANDLER_REFUSED' || code === 'PAYLOAD_INVALID')
    ? new HandlerRefusal(code, message, options?.cause)
    : new TarefaError(code as TarefaErrorCode, message, options);
}

/** Its code, and when `RetryIn`, `RetryAt` and `Snooze` want it to run again. */
function decisiveFields(error: Error): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const name of ['code', 'delayMs', 'date', 'until'] as const) {
    const value: unknown = (error as unknown as Readonly<Record<string, unknown>>)[name];
    if (typeof value === 'string' || typeof value === 'number' || value instanceof Date) fields[name] = value;
  }
  return fields;
}
