import { hasCode, TarefaError } from '../../errors.js';
import { hiddenInTransaction } from '../../storage/transaction-errors.js';
import { GroupBroken, type TaskTransaction } from '../../storage/transactions.js';
import { finishReturn, isUnfinished } from '../../subscribers/handler-invocation.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import {
  type HandlerContext,
  type Surroundings,
  readReturn,
  type RecordedReturn,
} from './handler-context.js';
import { invokeWithin } from './invoke-within.js';
import type { RunEnd } from './run-end.js';

/** One run of a handler, ready to begin. */
export interface HandlerRun {
  readonly handler: Handler;
  readonly payload: unknown;
  readonly context: HandlerContext;
  readonly surroundings: Surroundings;
  /** Undefined: it may take as long as it likes. */
  readonly timeoutMs: number | undefined;
}

/** Runs a handler and closes what it used: its tenant's connection, its transaction. Never rejects. */
export async function runHandler(run: HandlerRun): Promise<RunEnd> {
  const { handler, payload, context, surroundings, timeoutMs } = run;
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
    const recorded = readReturn(returned, surroundings.maxResultBytes);
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
  { context, surroundings }: HandlerRun,
  returned: unknown,
  transaction: TaskTransaction | undefined,
): Promise<RunEnd> {
  let recorded: RecordedReturn | undefined;
  try {
    // Checked before anything is committed here: a tenant's transaction left open fails the attempt.
    await context.tenant?.finish();
    recorded = readReturn(returned, surroundings.maxResultBytes);
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
    if (hasCode(error, 'CONNECTION_LOST')) return { kind: 'unknown', error, recorded };
    if (!hasCode(error, 'TASK_LOST')) return { kind: 'failed', error };
    // A row that was not found may belong to another worker, or be hidden from the role of the transaction.
    return { kind: 'unknown', error: hiddenInTransaction(context.claimed.id, error), recorded };
  }
}

/** The handler has completed the task by `ctx.completeIn`: whether that transaction committed only the table knows. */
async function endedElsewhere(
  { context, surroundings }: HandlerRun,
  recorded: RecordedReturn,
  thrown: unknown,
): Promise<RunEnd> {
  // Too late to fail it for what it left open there.
  await context.tenant?.finish().catch((problem: unknown) => surroundings.warn(context.claimed, problem));
  await context.rollback();
  const error =
    thrown ??
    new TarefaError(
      'TRANSACTION_BROKEN',
      'the transaction given to ctx.completeIn was not committed when the handler ended',
    );
  return { kind: 'unknown', error, recorded };
}
