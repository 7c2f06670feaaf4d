import type { Bell } from '../coordination/bell.js';
import type { QueueEvents } from '../events.js';
import type { UnfollowedAttempt } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { byHalves } from '../storage/by-halves.js';
import { blamesRow } from '../storage/error-kind.js';
import type { InconsistencyKind } from '../storage/inconsistencies.js';
import { failureMessage } from '../values/failure-text.js';

export interface SuccessorWatchParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'classify'>;
  readonly bell: Pick<Bell, 'ring'>;
  readonly events: QueueEvents;
  /** From a failure to the look, and from one look to the next. */
  readonly intervalMs: number;
}

/** Failures that one look is for. Of those that come faster some are not looked at. */
const most = 1_000;

/** A table that refuses every next attempt is not asked for each of them. */
const mostTries = 100;

/**
 * A net under failures. An attempt fails and has its next attempt, or its dead task, in one commit; whatever takes that away, a
 * trigger, a hand or a bug, would lose the task in silence. So a worker that has failed attempts looks a moment later whether
 * what follows them is there. A next attempt that is missing and not due yet is inserted, the rest is told. It looks by ids, and where nothing
 * fails not at all.
 */
export class SuccessorWatch {
  readonly #parts: SuccessorWatchParts;
  readonly #failed = new Set<string>();
  #started = false;
  #stopListening: readonly (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: SuccessorWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    const { events } = this.#parts;
    const note = ({ task }: { readonly task: { readonly id: string } }): void => this.#note([task.id]);
    this.#started = true;
    this.#stopListening = [events.on('task.failed', note), events.on('task.recovered', note)];
  }

  async stop(): Promise<void> {
    this.#started = false;
    for (const stop of this.#stopListening) stop();
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #note(ids: Iterable<string>): void {
    if (!this.#started) return;
    for (const id of ids) if (this.#failed.size < most) this.#failed.add(id);
    this.#timer ??= setTimeout(() => {
      this.#looking = this.#look();
    }, this.#parts.intervalMs).unref();
  }

  async #look(): Promise<void> {
    const ids = [...this.#failed];
    this.#failed.clear();
    this.#timer = undefined;
    try {
      const found = await this.#parts.database.attempts.findUnfollowed(ids);
      if (found.length > 0) await this.#mend(found);
    } catch {
      // Whatever is wrong with the database, the worker's own statements meet it too, and say so.
      this.#note(ids);
    }
  }

  async #mend(found: readonly UnfollowedAttempt[]): Promise<void> {
    const { database, bell } = this.#parts;
    const sentAt = performance.now();
    const refused = await this.#insertNext(found);
    const left = await database.attempts.findUnfollowed(found.map(({ id }) => id));
    const mended = found.filter(({ id }) => !left.some((one) => one.id === id));
    if (mended.length > 0) void bell.ring('tasks', { later: true, sentAt });
    this.#tell('no-next-attempt', mended, true);
    this.#tell('no-next-attempt', left, false, refused);
    this.#tell('no-dead-task', left, false);
  }

  /** Answers why the database refuses some of them; one that it refuses keeps no other away. */
  async #insertNext(found: readonly UnfollowedAttempt[]): Promise<string | undefined> {
    const { database } = this.#parts;
    const {
      refused: [first],
    } = await byHalves(
      found.filter(({ kind }) => kind === 'no-next-attempt').map(({ id }) => id),
      (ids) => database.attempts.insertNext(ids),
      (error) => blamesRow(database.classify(error)),
      mostTries,
    );
    return first && failureMessage(first.error);
  }

  #tell(
    kind: InconsistencyKind,
    attempts: readonly UnfollowedAttempt[],
    mended: boolean,
    refused?: string,
  ): void {
    const ids = attempts.filter((one) => one.kind === kind).map(({ id }) => id);
    if (ids.length > 0) this.#parts.events.emit('table.inconsistent', { kind, ids, mended, refused });
  }
}
