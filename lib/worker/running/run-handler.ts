import { hasCode, TarefaError } from '../../errors.js';
import { hiddenInTransaction } from '../../storage/transaction-errors.js';
import { GroupBroken, RingRefused, type TaskTransaction } from '../../storage/transactions.js';
import { finishReturn, isUnfinished } from '../../subscribers/handler-invocation.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import { type HandlerContext, type RunDeps, readReturn, type RecordedReturn } from './handler-context.js';

/** How one run of an attempt's handler ended. `Conclusion` turns it into the attempt's outcome. */
export type RunEnd =
  /** Succeeded, and to be written: it has no transaction of its own. */
  | { readonly kind: 'succeeded'; readonly recorded: RecordedReturn }
  /** Succeeded in its own transaction, which has committed. */
  | { readonly kind: 'committed'; readonly recorded: RecordedReturn }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Failed by its timeout, while its handler still runs until `handlerEnded`. */
  | { readonly kind: 'timed out'; readonly error: Error; readonly handlerEnded: Promise<void> }
  /** Whether its transaction committed `recorded`, and whose it is, has to be read; it failed with `error` when it is ours and did not. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly recorded: RecordedReturn | undefined }
  /** Its work was undone through no fault of its own: it runs again in a transaction of its own, where `quiet` says so without rings. */
  | { readonly kind: 'undone'; readonly quiet?: boolean }
  /** Another worker, which this one has started, runs it from now on. */
  | { readonly kind: 'handed over' }
  /** Told to stop before its turn came: another worker may run it. */
  | { readonly kind: 'not started' };

/** One run of a handler, ready to begin. */
export interface HandlerRun {
  readonly handler: Handler;
  readonly payload: unknown;
  readonly context: HandlerContext;
  readonly deps: RunDeps;
  /** Undefined: it may take as long as it likes. */
  readonly timeoutMs: number | undefined;
}

/** Runs a handler and closes what it used: its tenant's connection, its transaction. Never rejects. */
export async function runHandler(run: HandlerRun): Promise<RunEnd> {
  const { handler, payload, context, deps, timeoutMs } = run;
  try {
    let returned: unknown;
    if (timeoutMs === undefined) {
      returned = await handler.invoke(payload, context);
      if (isUnfinished(returned)) returned = await finishReturn(returned, handler.name);
    } else {
      const invocation = await invokeWithin(timeoutMs, handler, payload, context);
      if (invocation.kind === 'timed out') return invocation;
      returned = invocation.value;
    }
    if (context.completedElsewhere) return await endedElsewhere(run, context.completedElsewhere, undefined);
    const { tenant, transaction } = context;
    if (tenant || transaction) return await close(run, returned, transaction);
    const recorded = readReturn(returned, deps.maxResultBytes);
    context.end();
    return { kind: 'succeeded', recorded };
  } catch (error) {
    if (context.completedElsewhere) return endedElsewhere(run, context.completedElsewhere, error);
    await context.rollback();
    return context.disturbed ? { kind: 'undone' } : { kind: 'failed', error };
  }
}

/** The handler has returned: records it, in the handler's own transaction when it used one. Never rejects. */
async function close(
  { context, deps }: HandlerRun,
  returned: unknown,
  transaction: TaskTransaction | undefined,
): Promise<RunEnd> {
  let recorded: RecordedReturn | undefined;
  try {
    // Checked before anything is committed here: a tenant's transaction left open fails the attempt.
    await context.tenant?.finish();
    recorded = readReturn(returned, deps.maxResultBytes);
    if (!transaction) {
      context.end();
      return { kind: 'succeeded', recorded };
    }
    const { id, reservation } = context.claimed;
    const { message, result } = recorded;
    await transaction.complete({ id, reservation, message, result });
    return { kind: 'committed', recorded };
  } catch (error) {
    await context.rollback();
    if (error instanceof GroupBroken) {
      return error.kept && recorded ? { kind: 'succeeded', recorded } : { kind: 'undone' };
    }
    if (error instanceof RingRefused) return { kind: 'undone', quiet: true };
    if (hasCode(error, 'CONNECTION_LOST')) return { kind: 'unknown', error, recorded };
    if (!hasCode(error, 'TASK_LOST')) return { kind: 'failed', error };
    // A row that was not found may belong to another worker, or be hidden from the role of the transaction.
    return { kind: 'unknown', error: hiddenInTransaction(context.claimed.id, error), recorded };
  }
}

/** The handler has completed the task by `ctx.completeIn`: whether that transaction committed only the table knows. */
async function endedElsewhere(
  { context, deps }: HandlerRun,
  recorded: RecordedReturn,
  thrown: unknown,
): Promise<RunEnd> {
  // Too late to fail it for what it left open there.
  await context.tenant?.finish().catch((problem: unknown) => deps.warn(context.claimed, problem));
  await context.rollback();
  const error =
    thrown ??
    new TarefaError(
      'TRANSACTION_BROKEN',
      'the transaction given to ctx.completeIn was not committed when the handler ended',
    );
  return { kind: 'unknown', error, recorded };
}

/** What a handler returned; or its end, when it had a timeout and did not return in time. */
type Invocation =
  { readonly kind: 'returned'; readonly value: unknown } | Extract<RunEnd, { kind: 'timed out' }>;

/**
 * Runs a handler against its timeout. An inline handler cannot be stopped, only told: after a timeout its transaction is
 * cut, and `handlerEnded` resolves when its promise settles.
 *
 * @throws what the handler throws
 */
function invokeWithin(
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
  return Promise.race([running.then(asReturned), timeout]).finally(() => clearTimeout(timer));
}

/** Of a handler that did not end in time. */
export function timedOut(handler: string, timeoutMs: number): TarefaError {
  return new TarefaError('TASK_TIMEOUT', `${handler} did not end within its timeoutMs (${timeoutMs})`);
}

function asReturned(value: unknown): Invocation {
  return { kind: 'returned', value };
}

function ignore(): void {}
