import { hasCode, TarefaError } from '../../errors.js';
import type { Claim } from '../../storage/attempt.js';
import { GroupBroken } from '../../storage/transactions.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import type { HandlerContext } from './handler-context.js';
import { invokeHandler } from './invoke-handler.js';
import { readReturn, type RecordedReturn } from './recorded-return.js';
import type { RunEnd } from './run-end.js';

/** One run of a handler, ready to begin. */
export interface HandlerRun {
  readonly claim: Claim;
  readonly handler: Handler;
  readonly payload: unknown;
  readonly context: HandlerContext;
  readonly maxResultBytes: number;
  readonly warn: (problem: unknown) => void;
}

/** Runs a handler and closes what it used: its tenant's connection, its transaction. Never rejects. */
export async function runHandler(run: HandlerRun): Promise<RunEnd> {
  const { handler, payload, context } = run;
  try {
    const invocation = await invokeHandler(handler, payload, context);
    if (invocation.kind === 'timed out') return invocation;
    if (context.completedElsewhere) return await endedElsewhere(run, undefined);
    return await commit(run, invocation.value);
  } catch (error) {
    if (context.completedElsewhere) return endedElsewhere(run, error);
    await context.rollback();
    return context.disturbed ? { kind: 'undone' } : { kind: 'failed', error };
  }
}

/** The handler has returned: records it, in the handler's own transaction when it used one. */
async function commit({ claim, context, maxResultBytes }: HandlerRun, returned: unknown): Promise<RunEnd> {
  const { transaction } = context;
  let recorded: RecordedReturn | undefined;
  try {
    // Checked before anything is committed here: a tenant's transaction left open fails the attempt.
    if (context.tenant) await context.tenant.finish();
    recorded = readReturn(returned, maxResultBytes);
    if (!transaction) {
      context.end();
      return { kind: 'succeeded', recorded };
    }
    const { id, reservation } = claim;
    await transaction.complete({ id, reservation, ...recorded });
    return { kind: 'committed', recorded };
  } catch (error) {
    await context.rollback();
    if (error instanceof GroupBroken) {
      return error.kept && recorded ? { kind: 'succeeded', recorded } : { kind: 'undone' };
    }
    if (hasCode(error, 'TASK_LOST')) return { kind: 'lost' };
    return { kind: hasCode(error, 'CONNECTION_LOST') ? 'unknown' : 'failed', error };
  }
}

/** The handler has completed the task by `ctx.completeIn`: whether that transaction committed only the table knows. */
async function endedElsewhere({ context, warn }: HandlerRun, thrown: unknown): Promise<RunEnd> {
  // Too late to fail it for what it left open there.
  await context.tenant?.finish().catch(warn);
  await context.rollback();
  const error =
    thrown ??
    new TarefaError(
      'TRANSACTION_BROKEN',
      'the transaction given to ctx.completeIn was not committed when the handler ended',
    );
  return { kind: 'unknown', error };
}
