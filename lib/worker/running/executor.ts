import type { Bell } from '../../coordination/bell.js';
import { hasCode, TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { untreatedMessage } from '../../storage/buried.js';
import { describeRoute, plainRoute } from '../../storage/route.js';
import { HandlerRefusal } from '../../subscribers/handler-refusal.js';
import { handlerOf, type Handler, type HandlerRegistry } from '../../subscribers/handler-registry.js';
import { attemptsOf, timeoutOf } from '../../subscribers/task-rules.js';
import type { TenantSource } from '../../tenants/tenant-use.js';
import { cleanMessage, failureMessage } from '../../values/failure-text.js';
import { safely } from '../../values/safely.js';
import { checkAttempt, checkSize } from './attempt-limits.js';
import type { ChildPool } from '../children/child-pool.js';
import type { ChildPools } from '../children/child-pools.js';
import { ChildRun } from '../children/child-run.js';
import { Conclusion } from './conclusion.js';
import { GroupedTurns } from './grouped/grouped-turns.js';
import { HandlerContext, surroundingsOf, type Surroundings } from './handler-context.js';
import { decodePayload } from './payload.js';
import { ProgressNotes } from './progress-notes.js';
import type { RunEnd } from './run-end.js';
import { runHandler, type HandlerRun } from './run-handler.js';
import type { RunningTask } from './running-tasks.js';
import type { Settler } from './settler.js';

export interface ExecutorParts {
  readonly bell: Pick<Bell, 'ring'>;
  readonly database: Pick<QueueDatabase, 'attempts' | 'transactions'>;
  readonly settler: Pick<Settler, 'complete' | 'completed' | 'fail' | 'lose' | 'leave'>;
  readonly registry: Pick<HandlerRegistry, 'of'>;
  readonly tenants: TenantSource;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
  /** Where isolated handlers run. Default: here, as in tests that run one attempt at a time. */
  readonly children?: ChildPools | undefined;
}

/** An end after which the handler does not run again. */
type LastEnd = Exclude<RunEnd, { kind: 'undone' }>;

/**
 * Runs one attempt from its claim to its outcome: finds its handler, checks its limits, loads and decodes its payload,
 * waits for its turn in a group, runs the handler, and records how it ended.
 */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #surroundings: Surroundings;
  readonly #turns: GroupedTurns;
  readonly #conclusion: Conclusion;

  constructor(workerId: WorkerId, parts: ExecutorParts) {
    this.#parts = parts;
    const notes = new ProgressNotes(workerId, parts.database, parts.events);
    this.#surroundings = { ...surroundingsOf(parts), workerId, notes };
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
    const handler = handlerOf(this.#parts.registry, claimed);
    try {
      if (!handler) return await this.#conclusion.record(claimed, undefined, this.#withoutHandler(claimed));
      let end = await this.#begin(running, handler, handler.rules.grouped);
      while (end.kind === 'undone') {
        const aborted = running.context?.aborted;
        if (!aborted && !(await this.#conclusion.runsAgain(claimed))) return;
        end = aborted ? { kind: 'not started' } : await this.#begin(running, handler, false);
      }
      if (end.kind === 'not started') end = endOfUnstarted(running.context?.aborted);
      if (running.isReplaced) return this.#parts.settler.lose(claimed);
      const last = this.#treatIfRefused(claimed, handler, end);
      const recording = this.#conclusion.record(claimed, handler.rules, last);
      if (recording) await recording;
    } catch (error) {
      if (running.isReplaced) this.#parts.settler.lose(claimed);
      else this.#conclusion.fail(claimed, handler?.rules, error);
    }
  }

  /** Fails an attempt that has ended, by the rules of its handler: its outcome could not be written. */
  fail(claimed: ClaimedTask, error: unknown): void {
    this.#conclusion.fail(claimed, handlerOf(this.#parts.registry, claimed)?.rules, error);
  }

  /**
   * Runs the handler once. Promises are made only where something is waited for: each costs a small task a twentieth of
   * its time.
   *
   * @throws {TarefaError} `ATTEMPTS_EXHAUSTED`, `PAYLOAD_TOO_LARGE`, or what reading the payload throws
   */
  #begin(running: RunningTask, handler: Handler, grouped: boolean): Promise<RunEnd> {
    const { claimed } = running;
    const { database, options, children } = this.#parts;
    checkAttempt(claimed.task, attemptsOf(claimed.task, handler.rules, options));
    // The envelope of a delivery may exceed the limit, which is its publication's.
    if (claimed.task.subscriptionId === null) checkSize(claimed, options.maxPayloadBytes);
    const { isolate } = handler.rules;
    if (isolate === 'detached' && children) {
      return children.detached.run(running, this.#surroundings.workerId);
    }
    if (isolate && isolate !== 'detached' && children)
      return this.#runInChild(running, handler, children[isolate]);
    if (claimed.payload !== undefined) return this.#call(running, handler, claimed.payload, grouped);
    return database.attempts
      .loadPayload(claimed.id)
      .then((stored) => this.#call(running, handler, stored, grouped));
  }

  #call(running: RunningTask, handler: Handler, stored: string | null, grouped: boolean): Promise<RunEnd> {
    const { claimed } = running;
    const { payload, subscription } = decodePayload(stored, claimed.task, handler.rules.payload);
    const context = new HandlerContext(claimed, subscription, this.#surroundings);
    running.context = context;
    const timeoutMs = timeoutOf(claimed.task, handler.rules);
    const run: HandlerRun = { handler, payload, context, surroundings: this.#surroundings, timeoutMs };
    return grouped ? this.#runInGroup(run) : runHandler(run);
  }

  #runInChild(running: RunningTask, handler: Handler, pool: ChildPool): Promise<RunEnd> {
    const { workerId, notes } = this.#surroundings;
    const { transactions } = this.#parts.database;
    const run = new ChildRun(running.claimed, handler, { pool, transactions, workerId, notes });
    running.context = run;
    return run.run();
  }

  async #runInGroup(run: HandlerRun): Promise<RunEnd> {
    return (await this.#turns.wait(run.handler, run.context)) ? runHandler(run) : { kind: 'not started' };
  }

  /** No method serves this task here: a dead one gets the default treatment, a live one fails. */
  #withoutHandler(claimed: ClaimedTask): LastEnd {
    if (claimed.task.dead) return this.#treatByDefault(claimed, 'no dead handler is registered');
    const error = new TarefaError(
      'HANDLER_NOT_REGISTERED',
      `not registered: no method of this process handles ${describeRoute(plainRoute(claimed.route))}`,
    );
    return { kind: 'failed', error };
  }

  /** A dead handler that is not let run, by a guard of its class for example, is like none: somebody has to hear of the task. */
  #treatIfRefused(claimed: ClaimedTask, { name }: Handler, end: LastEnd): LastEnd {
    if (!claimed.task.dead || end.kind !== 'failed') return end;
    if (!safely(() => end.error instanceof HandlerRefusal, false)) return end;
    return this.#treatByDefault(claimed, `${name} was not let run: ${failureMessage(end.error)}`);
  }

  #treatByDefault({ task, route }: ClaimedTask, why: string): LastEnd {
    const gaveUp = `${describeRoute(plainRoute(route))} gave up, and ${why}`;
    const message = cleanMessage(`${untreatedMessage}: ${gaveUp}`);
    this.#parts.events.emit('warning', { message: `task ${task.liveId ?? task.firstAttemptId}: ${message}` });
    return { kind: 'succeeded', recorded: { message, result: null } };
  }
}

/** Another worker runs it, unless it was cancelled: then it fails here, and ends so. */
function endOfUnstarted(aborted: Error | undefined): LastEnd {
  return hasCode(aborted, 'TASK_CANCELLED') ? { kind: 'failed', error: aborted } : { kind: 'not started' };
}
