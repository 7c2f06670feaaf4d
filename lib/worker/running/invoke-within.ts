import { TarefaError } from '../../errors.js';
import { finishReturn, isUnfinished } from '../../subscribers/handler-invocation.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import type { HandlerContext } from './handler-context.js';
import type { RunEnd } from './run-end.js';

/** What a handler returned; or its end, when it had a timeout and did not return in time. */
export type Invocation =
  { readonly kind: 'returned'; readonly value: unknown } | Extract<RunEnd, { kind: 'timed out' }>;

/**
 * Runs a handler against its timeout. An inline handler cannot be stopped, only told: after a timeout its transaction is
 * cut, and `handlerEnded` resolves when its promise settles.
 *
 * @throws what the handler throws
 */
export function invokeWithin(
  timeoutMs: number,
  handler: Handler,
  payload: unknown,
  context: HandlerContext,
): Promise<Invocation> {
  const running = Promise.resolve()
    .then(() => handler.invoke(payload, context))
    .then((value) => (isUnfinished(value) ? finishReturn(value, handler.name) : value));
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Invocation>((resolve) => {
    timer = setTimeout(() => {
      const error = timedOut(handler.name, timeoutMs);
      context.destroy(error);
      resolve({ kind: 'timed out', error, handlerEnded: running.then(ignore, ignore) });
    }, timeoutMs);
  });
  return Promise.race([running.then(returned), timeout]).finally(() => clearTimeout(timer));
}

/** Of a handler that did not end in time. */
export function timedOut(handler: string, timeoutMs: number): TarefaError {
  return new TarefaError('TASK_TIMEOUT', `${handler} did not end within its timeoutMs (${timeoutMs})`);
}

function returned(value: unknown): Invocation {
  return { kind: 'returned', value };
}

function ignore(): void {}
