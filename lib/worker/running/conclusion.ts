import type { Bell } from '../../coordination/bell.js';
import { hasCode } from '../../errors.js';
import { reference, type QueueEvents } from '../../events.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { AttemptOutcome, ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { describeRoute, plainRoute } from '../../storage/route.js';
import type { HandlerRules } from '../../subscribers/handler-registry.js';
import { attemptsOf, ownRuleProblem } from '../../subscribers/task-rules.js';
import { failureMessage } from '../../values/failure-text.js';
import { Backoff } from '../../timing/backoff.js';
import { nextAttempt, snoozedUntil } from './next-attempt.js';
import { nothingReturned, type RecordedReturn } from './recorded-return.js';
import type { RunEnd } from './run-end.js';
import type { Settler } from './settler.js';

export interface ConclusionParts {
  readonly bell: Pick<Bell, 'ring'>;
  readonly database: Pick<QueueDatabase, 'attempts'>;
  readonly settler: Pick<Settler, 'complete' | 'completed' | 'fail' | 'lose' | 'leave'>;
  readonly options: Pick<WorkerOptions, 'maxAttempts' | 'maxSnoozes' | 'retryIntervalMinutes'>;
  readonly events: QueueEvents;
}

/** Turns the end of a run into the attempt's outcome; no other file does. */
export class Conclusion {
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
      events.emit('warning', { message: `${task} has failed, and ${problem}: the rule of the queue counts` });
    };
    const problem = ownRuleProblem(claimed.task);
    if (problem !== undefined) warn(problem);
    const until = snoozedUntil(error, warn);
    const isSnoozed = until !== undefined && claimed.reservation <= options.maxSnoozes;
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
