import type { Bell } from '../../coordination/bell.js';
import { hasCode, TarefaError } from '../../errors.js';
import { type QueueEvents, reference } from '../../events.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { AttemptOutcome, ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { untreatedMessage } from '../../storage/buried.js';
import { describeRoute, plainRoute } from '../../storage/route.js';
import { HandlerRefusal } from '../../subscribers/handler-refusal.js';
import {
  type Handler,
  handlerOf,
  type HandlerRegistry,
  type HandlerRules,
  attemptsOf,
  checkAttempt,
  checkSize,
  ownRuleProblem,
  timeoutOf,
} from '../../subscribers/handler-registry.js';
import type { TenantSource } from '../../tenants/tenant-use.js';
import { cleanMessage } from '../../values/stored-text.js';
import { failureMessage } from '../../values/failure-text.js';
import { safely } from '../../values/safely.js';
import type { ChildPool } from '../children/child-pool.js';
import type { ChildPools } from '../children/child-pools.js';
import { ChildRun } from '../children/child-run.js';
import { GroupedTurns } from './grouped-turns.js';
import {
  HandlerContext,
  runDepsOf,
  type RunDeps,
  decodePayload,
  nothingReturned,
  type RecordedReturn,
} from './handler-context.js';
import { ProgressNotes } from './progress-notes.js';
import { type RunEnd, runHandler, type HandlerRun } from './run-handler.js';
import type { RunningTask } from './running-tasks.js';
import type { Settler } from './settler.js';
import { Backoff } from '../../timing/backoff.js';
import { nextAttempt, snoozedUntil } from './next-attempt.js';

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

/** In what kind of transaction a handler is run: as one of a group, or without rings. */
interface RunKind {
  readonly grouped?: boolean;
  readonly quiet?: boolean | undefined;
}

/** An end after which the handler does not run again. */
type LastEnd = Exclude<RunEnd, { kind: 'undone' }>;

/**
 * Runs one attempt from its claim to its outcome: finds its handler, checks its limits, loads and decodes its payload,
 * waits for its turn in a group, runs the handler, and records how it ended.
 */
export class Executor {
  readonly #parts: ExecutorParts;
  readonly #deps: RunDeps;
  readonly #turns: GroupedTurns;
  readonly #conclusion: Conclusion;

  constructor(workerId: WorkerId, parts: ExecutorParts) {
    this.#parts = parts;
    const notes = new ProgressNotes(workerId, parts.database, parts.events);
    this.#deps = { ...runDepsOf(parts), workerId, notes };
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
      let end = await this.#begin(running, handler, { grouped: handler.rules.grouped });
      while (end.kind === 'undone') {
        const { quiet } = end;
        const aborted = running.context?.aborted;
        if (!aborted && !(await this.#conclusion.runsAgain(claimed))) return;
        end = aborted ? { kind: 'not started' } : await this.#begin(running, handler, { quiet });
      }
      if (end.kind === 'not started') end = endOfUnstarted(running.context?.aborted);
      if (running.isReplaced) return this.#parts.settler.lose(claimed);
      const last =
        claimed.task.dead && end.kind === 'failed' ? this.#treatIfRefused(claimed, handler, end) : end;
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
  #begin(running: RunningTask, handler: Handler, how: RunKind): Promise<RunEnd> {
    const { claimed } = running;
    const { database, options, children } = this.#parts;
    checkAttempt(claimed.task, attemptsOf(claimed.task, handler.rules, options));
    // The envelope of a delivery may exceed the limit, which is its publication's.
    if (claimed.task.subscriptionId === null) checkSize(claimed, options.maxPayloadBytes);
    const { isolate } = handler.rules;
    if (isolate === 'detached' && children) {
      return children.detached.run(running, this.#deps.workerId);
    }
    if (isolate && isolate !== 'detached' && children)
      return this.#runInChild(running, handler, children[isolate], how);
    if (claimed.payload !== undefined) return this.#call(running, handler, claimed.payload, how);
    return database.attempts
      .loadPayload(claimed.id)
      .then((stored) => this.#call(running, handler, stored, how));
  }

  #call(
    running: RunningTask,
    handler: Handler,
    stored: string | null,
    { grouped, quiet }: RunKind,
  ): Promise<RunEnd> {
    const { claimed } = running;
    const deps = quiet ? { ...this.#deps, quiet } : this.#deps;
    const { payload, subscription } = decodePayload(stored, claimed.task, handler.rules.payload);
    const context = new HandlerContext(claimed, subscription, deps);
    running.context = context;
    const timeoutMs = timeoutOf(claimed.task, handler.rules);
    const run: HandlerRun = { handler, payload, context, deps, timeoutMs };
    return grouped ? this.#runInGroup(run) : runHandler(run);
  }

  #runInChild(running: RunningTask, handler: Handler, pool: ChildPool, { quiet }: RunKind): Promise<RunEnd> {
    const { workerId, notes } = this.#deps;
    const { transactions } = this.#parts.database;
    const run = new ChildRun(running.claimed, handler, { pool, transactions, workerId, notes, quiet });
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
  #treatIfRefused(
    claimed: ClaimedTask,
    { name }: Handler,
    end: Extract<RunEnd, { kind: 'failed' }>,
  ): LastEnd {
    if (!safely(() => end.error instanceof HandlerRefusal, false)) return end;
    return this.#treatByDefault(claimed, `${name} was not allowed to run: ${failureMessage(end.error)}`);
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

interface ConclusionParts {
  readonly bell: Pick<Bell, 'ring'>;
  readonly database: Pick<QueueDatabase, 'attempts'>;
  readonly settler: Pick<Settler, 'complete' | 'completed' | 'fail' | 'lose' | 'leave'>;
  readonly options: Pick<WorkerOptions, 'maxAttempts' | 'maxSnoozes' | 'retryIntervalMinutes'>;
  readonly events: QueueEvents;
}

/** Turns the end of a run into the attempt's outcome; no other file does. */
class Conclusion {
  readonly #workerId: WorkerId;
  readonly #parts: ConclusionParts;
  #stopping = false;

  constructor(workerId: WorkerId, parts: ConclusionParts) {
    this.#workerId = workerId;
    this.#parts = parts;
  }

  /** From now on answers that may never come are not waited for. */
  stop(): void {
    this.#stopping = true;
  }

  /**
   * Records the end of an attempt. Its slot is free at once, or when the promise resolves that this answers. `undone` ends
   * are handled by {@link runsAgain}.
   */
  record(
    claimed: ClaimedTask,
    rules: HandlerRules | undefined,
    end: Exclude<RunEnd, { kind: 'undone' }>,
  ): Promise<void> | undefined {
    const { settler } = this.#parts;
    switch (end.kind) {
      case 'succeeded':
        settler.complete(claimed, end.recorded);
        break;
      case 'committed':
        settler.completed(claimed, end.recorded);
        break;
      case 'failed':
        this.fail(claimed, rules, end.error);
        break;
      case 'timed out':
        this.fail(claimed, rules, end.error);
        return end.handlerEnded;
      case 'unknown':
        return this.#failIfHeld(claimed, rules, end);
      case 'handed over':
        break;
      case 'not started':
        return this.#giveBack(claimed);
    }
    return undefined;
  }

  /** True when an attempt whose work was undone is still ours and unfinished; otherwise records its outcome. */
  runsAgain(claimed: ClaimedTask): Promise<boolean> {
    return this.#isHeld(claimed);
  }

  /** Fails an attempt by the rules of its handler. */
  fail(claimed: ClaimedTask, rules: HandlerRules | undefined, error: unknown): void {
    const { options, settler, events } = this.#parts;
    const warn = (problem: string): void => {
      const task = `task ${claimed.task.firstAttemptId} (${describeRoute(plainRoute(claimed.route))})`;
      events.emit('warning', { message: `${task} failed, and ${problem}: the rule of the queue applies` });
    };
    const until = snoozedUntil(error, warn);
    const isSnoozed = until !== undefined && claimed.reservation <= options.maxSnoozes;
    const problem = isSnoozed ? undefined : ownRuleProblem(claimed.task);
    if (problem !== undefined) warn(problem);
    settler.fail(claimed, {
      error: until === undefined || isSnoozed ? error : snoozedTooOften(error, options.maxSnoozes),
      snoozedUntil: isSnoozed ? until : undefined,
      maxAttempts: attemptsOf(claimed.task, rules, options),
      // A snooze is no failure: no rule for these is asked.
      next: isSnoozed ? until : nextAttempt(error, claimed.task.attempt, rules, options, warn),
    });
  }

  async #failIfHeld(
    claimed: ClaimedTask,
    rules: HandlerRules | undefined,
    { error, recorded }: Extract<RunEnd, { kind: 'unknown' }>,
  ): Promise<void> {
    if (await this.#isHeld(claimed, recorded)) this.fail(claimed, rules, error);
  }

  /** Reads what became of an attempt, and records it unless this worker still holds it. */
  async #isHeld(claimed: ClaimedTask, recorded: RecordedReturn = nothingReturned): Promise<boolean> {
    const { settler } = this.#parts;
    const outcome = await this.#readOutcome(claimed);
    if (outcome === 'held') return true;
    if (outcome === 'completed') settler.completed(claimed, recorded);
    else if (outcome === undefined) settler.leave(claimed);
    else settler.lose(claimed);
    return false;
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

  /** It had no effect, as this worker stops or has no child for it: another worker runs it. */
  async #giveBack(claimed: ClaimedTask): Promise<void> {
    const { database, settler, bell, events } = this.#parts;
    const released = await database.attempts.releaseMany(this.#workerId, [claimed]);
    if (released.length === 0) return settler.lose(claimed);
    events.emit('task.released', { task: reference(claimed), reason: 'the worker could not start it' });
    void bell.ring('tasks', { dueMs: 0 });
  }
}

/** A row counts its claims: each but the first one follows a snooze, or a worker that stopped before its turn. */
function snoozedTooOften(cause: unknown, most: number): Error {
  return new Error(`snoozed more than maxSnoozes (${most}) times: ${failureMessage(cause)}`, { cause });
}
