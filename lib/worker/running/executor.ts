import { Backoff } from '../../timing/backoff.js';
import { hasCode, TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import { describeRoute } from '../../storage/route.js';
import { GroupBroken } from '../../storage/transactions.js';
import { type AttemptOutcome, type ClaimedTask, type WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { Handler, HandlerRegistry } from '../../subscribers/handler-registry.js';
import type { TenantSource } from '../../tenants/tenant-use.js';
import { GroupedTurns } from './grouped/grouped-turns.js';
import { HandlerContext } from './handler-context.js';
import { checkAttempt, failureMessage, nextAttempt, readReturn, type RecordedReturn } from './outcome.js';
import { decodePayload, sizeAbove } from './payload.js';
import type { RunningTask } from './running-tasks.js';
import { reference, type Settler } from './settler.js';
import type { WorkerOptions } from '../../options/worker-options.js';

/** What an {@link Executor} works with. */
export interface ExecutorParts {
  readonly database: QueueDatabase;
  readonly settler: Settler;
  readonly registry: HandlerRegistry;
  readonly tenants: TenantSource;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}

/** Runs one attempt from its claim to its outcome. */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #turns: GroupedTurns;
  #workerId: WorkerId = '';
  #stopping = false;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#turns = new GroupedTurns(parts.database);
  }

  start(workerId: WorkerId): void {
    this.#workerId = workerId;
    this.#turns.start(workerId);
  }

  /** From now on waiting for answers that may never come ends early. */
  stop(): void {
    this.#stopping = true;
  }

  /** Resolves when the slot is free again: the handler has ended, and its outcome is with the settler. */
  async run(running: RunningTask): Promise<void> {
    const { claimed } = running;
    const handler = this.#resolveHandler(claimed);
    try {
      const prepared = await this.#prepare(running, handler);
      const { context } = prepared;
      if (handler?.rules.grouped && context && !(await this.#turns.wait(handler, context))) {
        return await this.#giveBack(claimed);
      }
      await this.#perform(running, handler, prepared);
    } catch (error) {
      this.#fail(claimed, handler, error);
    }
  }

  /** Fails an attempt that has ended, by the rules of its handler: its outcome could not be written. */
  fail(claimed: ClaimedTask, error: unknown): void {
    this.#fail(claimed, this.#resolveHandler(claimed), error);
  }

  /** `dead` decides which handler; a dead task without one gets the default treatment, not a failure. */
  #resolveHandler({ route, task }: ClaimedTask): Handler | undefined {
    const { live, dead } = this.#parts.registry.of(route);
    return task.dead ? dead : live;
  }

  async #prepare(running: RunningTask, handler: Handler | undefined): Promise<PreparedTask> {
    const { claimed } = running;
    const { database, tenants, options } = this.#parts;
    if (!handler) return { payload: undefined, context: undefined };
    checkAttempt(claimed.task, handler.rules.maxAttempts ?? options.maxAttempts);
    const stored = await this.#loadPayload(claimed);
    const { payload, subscription } = decodePayload(stored, claimed.task, handler.rules.payload);
    running.context = new HandlerContext(
      claimed,
      subscription,
      database,
      this.#workerId,
      options.maxPayloadBytes,
      tenants,
    );
    return { payload, context: running.context };
  }

  /** The limit is checked before the payload is loaded or parsed; an envelope may exceed it. */
  async #loadPayload(claimed: ClaimedTask): Promise<string | null> {
    const { task, payload } = claimed;
    const { maxPayloadBytes } = this.#parts.options;
    const bytes = task.subscriptionId === null ? sizeAbove(claimed, maxPayloadBytes) : undefined;
    if (bytes !== undefined) throw oversized(bytes, maxPayloadBytes);
    return payload === undefined ? this.#parts.database.attempts.loadPayload(task.id) : payload;
  }

  async #perform(
    running: RunningTask,
    handler: Handler | undefined,
    { payload, context }: PreparedTask,
  ): Promise<void> {
    const { claimed } = running;
    if (!handler || !context) return this.#treatUnhandled(claimed);
    let returned: unknown;
    try {
      returned = await this.#invoke(claimed, handler, payload, context);
    } catch (error) {
      const ended = endOfExpired(error);
      if (ended) return ended;
      if (context.completedElsewhere) return this.#finishElsewhere(claimed, handler, context, error);
      await context.rollback();
      if (context.disturbed) return this.#repeat(running, handler);
      throw error;
    }
    await this.#finish(running, handler, context, returned);
  }

  /** Runs the handler, against its timeout when it has one. */
  async #invoke(
    claimed: ClaimedTask,
    handler: Handler,
    payload: unknown,
    context: HandlerContext,
  ): Promise<unknown> {
    const { timeoutMs } = handler.rules;
    if (timeoutMs === undefined) return handler.invoke(payload, context);

    const running = Promise.resolve().then(() => handler.invoke(payload, context));
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(this.#expire(claimed, handler, context, running));
      }, timeoutMs);
    });
    return Promise.race([running, timeout]).finally(() => clearTimeout(timer));
  }

  /**
   * The attempt fails now; the slot stays taken until the handler's promise settles, because inline code cannot
   * be stopped, only told.
   */
  #expire(
    claimed: ClaimedTask,
    handler: Handler,
    context: HandlerContext,
    running: Promise<unknown>,
  ): Expired {
    const error = new TarefaError(
      'TASK_TIMEOUT',
      `${handler.name} did not end within its timeoutMs (${handler.rules.timeoutMs})`,
    );
    context.destroy(error);
    this.#fail(claimed, handler, error);
    return new Expired(running.then(ignore, ignore));
  }

  async #finish(
    running: RunningTask,
    handler: Handler,
    context: HandlerContext,
    returned: unknown,
  ): Promise<void> {
    const { claimed } = running;
    if (context.completedElsewhere) return this.#finishElsewhere(claimed, handler, context, undefined);
    const { transaction } = context;
    let recorded: RecordedReturn | undefined;
    try {
      // Before anything is committed here: what was left open there fails the attempt.
      if (context.tenant) await context.tenant.finish();
      recorded = readReturn(returned, this.#parts.options.maxPayloadBytes);
      if (!transaction) {
        context.end();
        return this.#parts.settler.complete(claimed, recorded);
      }
      const { id, reservation } = claimed;
      await transaction.complete({ id, reservation, ...recorded });
      this.#completed(claimed, recorded);
    } catch (error) {
      await context.rollback();
      if (error instanceof GroupBroken) {
        if (error.kept && recorded) return this.#parts.settler.complete(claimed, recorded);
        return this.#repeat(running, handler);
      }
      await this.#finishBroken(claimed, handler, error);
    }
  }

  /** The completion was refused or its answer was lost. */
  async #finishBroken(claimed: ClaimedTask, handler: Handler, error: unknown): Promise<void> {
    if (hasCode(error, 'TASK_LOST')) return this.#parts.settler.lose(claimed);
    if (!hasCode(error, 'CONNECTION_LOST')) throw error;
    const outcome = await this.#readOutcome(claimed);
    if (outcome === 'completed') this.#completed(claimed, { message: 'completed', result: null });
    else if (outcome === 'held') this.#fail(claimed, handler, error);
    else if (outcome === 'lost') this.#parts.settler.lose(claimed);
    else this.#parts.settler.leave(claimed);
  }

  /** Its work was undone because of another task: it runs once more, in a transaction of its own. */
  async #repeat(running: RunningTask, handler: Handler): Promise<void> {
    const { claimed } = running;
    if (running.context?.aborted) return this.#giveBack(claimed);
    const outcome = await this.#readOutcome(claimed);
    if (outcome === 'completed') return this.#completed(claimed, { message: 'completed', result: null });
    if (outcome === undefined) return this.#parts.settler.leave(claimed);
    if (outcome !== 'held') return this.#parts.settler.lose(claimed);
    if (running.context?.aborted) return this.#giveBack(claimed);
    await this.#perform(running, handler, await this.#prepare(running, handler));
  }

  /** Nothing of it took effect, and this worker is to stop: another one runs it. */
  async #giveBack(claimed: ClaimedTask): Promise<void> {
    const { database, settler, events } = this.#parts;
    const released = await database.attempts.releaseMany(this.#workerId, [claimed]);
    if (released.length === 0) return settler.lose(claimed);
    events.emit('task.released', { task: reference(claimed), reason: 'the worker stops before its turn' });
  }

  /** The task ended in a transaction of the handler's own: whether that committed is read back. */
  async #finishElsewhere(
    claimed: ClaimedTask,
    handler: Handler,
    context: HandlerContext,
    thrown: unknown,
  ): Promise<void> {
    // Too late to fail it for what it left open there.
    await context.tenant?.finish().catch((error: unknown) => {
      const message = `task ${claimed.task.firstAttemptId} has ended all the same: ${failureMessage(error)}`;
      this.#parts.events.emit('warning', { message });
    });
    await context.rollback();
    const outcome = await this.#readOutcome(claimed);
    if (outcome === 'completed') this.#completed(claimed, { message: 'completed', result: null });
    else if (outcome === undefined) this.#parts.settler.leave(claimed);
    else if (outcome !== 'held') this.#parts.settler.lose(claimed);
    else {
      const rolledBack = new TarefaError(
        'TRANSACTION_BROKEN',
        'the transaction given to ctx.completeIn was not committed when the handler ended',
      );
      this.#fail(claimed, handler, thrown ?? rolledBack);
    }
  }

  /** Asks until the database answers; undefined at shutdown, when the row is left to recovery. */
  async #readOutcome(claimed: ClaimedTask): Promise<AttemptOutcome | undefined> {
    const backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
    for (;;) {
      try {
        return await this.#parts.database.attempts.readOutcome(this.#workerId, claimed);
      } catch (error) {
        if (this.#stopping) return undefined;
        if (!hasCode(error, 'CONNECTION_LOST')) throw error;
        await backoff.wait();
      }
    }
  }

  /** No method serves this task here. */
  #treatUnhandled(claimed: ClaimedTask): void {
    const { task, route } = claimed;
    if (task.dead) {
      const message = `manual intervention is needed: ${describeRoute(route)} gave up, and no dead handler is registered`;
      this.#parts.events.emit('warning', { message: `task ${task.liveId ?? task.id}: ${message}` });
      return this.#parts.settler.complete(claimed, { message, result: null });
    }
    throw new TarefaError(
      'HANDLER_NOT_REGISTERED',
      `not registered: no method of this process handles ${describeRoute(route)}`,
    );
  }

  /** Completed in a transaction of its own: nothing is left to settle. */
  #completed(claimed: ClaimedTask, { message }: RecordedReturn): void {
    this.#parts.settler.completed(claimed, message);
  }

  #fail(claimed: ClaimedTask, handler: Handler | undefined, error: unknown): void {
    const { options, settler } = this.#parts;
    const rules = handler?.rules;
    settler.fail(claimed, {
      error,
      maxAttempts: rules?.maxAttempts ?? options.maxAttempts,
      next: nextAttempt(error, claimed.task.attempt, rules, options),
    });
  }
}

interface PreparedTask {
  readonly payload: unknown;
  readonly context: HandlerContext | undefined;
}

/** Carries the end of a handler whose attempt has failed already by its timeout. */
class Expired extends Error {
  constructor(readonly ended: Promise<void>) {
    super('timed out');
  }
}

/** The end of the handler, when that is what was thrown. What a handler throws may not even like to be asked. */
function endOfExpired(thrown: unknown): Promise<void> | undefined {
  try {
    return thrown instanceof Expired ? thrown.ended : undefined;
  } catch {
    return undefined;
  }
}

/** The error of a payload above the limit; the same for tasks and publications. */
export function oversized(bytes: number, limit: number): TarefaError {
  return new TarefaError(
    'PAYLOAD_TOO_LARGE',
    `the payload has ${bytes} bytes, more than maxPayloadBytes (${limit}): it was neither loaded nor tried`,
  );
}

function ignore(): void {}
