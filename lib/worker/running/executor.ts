import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { describeRoute } from '../../storage/route.js';
import type { Handler, HandlerRegistry } from '../../subscribers/handler-registry.js';
import type { TenantSource } from '../../tenants/tenant-use.js';
import { failureMessage } from '../../values/failure-text.js';
import { checkAttempt, checkSize } from './attempt-limits.js';
import { Conclusion } from './conclusion.js';
import { GroupedTurns } from './grouped/grouped-turns.js';
import { HandlerContext } from './handler-context.js';
import { decodePayload } from './payload.js';
import type { RunEnd } from './run-end.js';
import { runHandler, type HandlerRun } from './run-handler.js';
import type { RunningTask } from './running-tasks.js';
import type { Settler } from './settler.js';

export interface ExecutorParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'transactions'>;
  readonly settler: Pick<Settler, 'complete' | 'completed' | 'fail' | 'lose' | 'leave'>;
  readonly registry: Pick<HandlerRegistry, 'of'>;
  readonly tenants: TenantSource;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}

/**
 * Runs one attempt from its claim to its outcome: finds its handler, checks its limits, loads and decodes its payload,
 * waits for its turn in a group, runs the handler, and records how it ended.
 */
export class Executor {
  readonly #workerId: WorkerId;
  readonly #parts: ExecutorParts;
  readonly #turns: GroupedTurns;
  readonly #conclusion: Conclusion;

  constructor(workerId: WorkerId, parts: ExecutorParts) {
    this.#workerId = workerId;
    this.#parts = parts;
    this.#turns = new GroupedTurns(workerId, parts.database);
    this.#conclusion = new Conclusion(workerId, parts);
  }

  /** From now on waiting for answers that may never come ends early. */
  stop(): void {
    this.#conclusion.stop();
  }

  /** Resolves when the slot is free again: the handler has ended, and its outcome is with the settler. Never rejects. */
  async run(running: RunningTask): Promise<void> {
    const { claimed } = running;
    const handler = this.#handlerOf(claimed);
    try {
      if (!handler) return await this.#conclusion.record(claimed, undefined, this.#withoutHandler(claimed));
      let end = handler.rules.grouped
        ? await this.#runInGroup(running, handler)
        : await this.#runAlone(running, handler);
      while (end.kind === 'undone') {
        const aborted = running.context?.aborted ?? false;
        if (!aborted && !(await this.#conclusion.runsAgain(claimed))) return;
        end = await this.#runAlone(running, handler);
      }
      await this.#conclusion.record(claimed, handler.rules, end);
    } catch (error) {
      this.#conclusion.fail(claimed, handler?.rules, error);
    }
  }

  /** Fails an attempt that has ended, by the rules of its handler: its outcome could not be written. */
  fail(claimed: ClaimedTask, error: unknown): void {
    this.#conclusion.fail(claimed, this.#handlerOf(claimed)?.rules, error);
  }

  /** The handler for live or for dead attempts of the route. */
  #handlerOf({ route, task }: ClaimedTask): Handler | undefined {
    const { live, dead } = this.#parts.registry.of(route);
    return task.dead ? dead : live;
  }

  async #runAlone(running: RunningTask, handler: Handler): Promise<RunEnd> {
    // Its work was undone, and the worker is stopping.
    if (running.context?.aborted) return { kind: 'not started' };
    return runHandler(await this.#prepare(running, handler));
  }

  async #runInGroup(running: RunningTask, handler: Handler): Promise<RunEnd> {
    const run = await this.#prepare(running, handler);
    return (await this.#turns.wait(handler, run.context)) ? runHandler(run) : { kind: 'not started' };
  }

  /** @throws {TarefaError} `ATTEMPTS_EXHAUSTED`, `PAYLOAD_TOO_LARGE`, or what reading the payload throws */
  async #prepare(running: RunningTask, handler: Handler): Promise<HandlerRun> {
    const { claimed } = running;
    const { database, tenants, options, events } = this.#parts;
    const { maxPayloadBytes } = options;
    checkAttempt(claimed.task, handler.rules.maxAttempts ?? options.maxAttempts);
    const stored = await this.#loadPayload(claimed);
    const { payload, subscription } = decodePayload(stored, claimed.task, handler.rules.payload);
    const context = new HandlerContext(
      claimed,
      subscription,
      database,
      this.#workerId,
      maxPayloadBytes,
      tenants,
    );
    running.context = context;
    const warn = (problem: unknown): void => {
      const message = `task ${claimed.task.firstAttemptId} has ended all the same: ${failureMessage(problem)}`;
      events.emit('warning', { message });
    };
    return { claim: claimed, handler, payload, context, maxResultBytes: maxPayloadBytes, warn };
  }

  /** The envelope of a delivery may exceed the limit, which is its publication's. */
  async #loadPayload(claimed: ClaimedTask): Promise<string | null> {
    const { task, payload } = claimed;
    if (task.subscriptionId === null) checkSize(claimed, this.#parts.options.maxPayloadBytes);
    return payload === undefined ? this.#parts.database.attempts.loadPayload(task.id) : payload;
  }

  /** No method serves this task here: a dead one gets the default treatment, a live one fails. */
  #withoutHandler({ task, route }: ClaimedTask): Exclude<RunEnd, { kind: 'undone' }> {
    if (!task.dead) {
      const error = new TarefaError(
        'HANDLER_NOT_REGISTERED',
        `not registered: no method of this process handles ${describeRoute(route)}`,
      );
      return { kind: 'failed', error };
    }
    const message = `manual intervention is needed: ${describeRoute(route)} gave up, and no dead handler is registered`;
    this.#parts.events.emit('warning', { message: `task ${task.liveId ?? task.id}: ${message}` });
    return { kind: 'succeeded', recorded: { message, result: null } };
  }
}
