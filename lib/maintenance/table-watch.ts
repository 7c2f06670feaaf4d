import type { Bell } from '../coordination/bell.js';
import type { QueueEvents } from '../events.js';
import type { UnfollowedAttempt } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { byHalves } from '../storage/by-halves.js';
import { blamesRow } from '../storage/error-kind.js';
import type { InconsistencyKind } from '../storage/inconsistencies.js';
import { newestLimit } from '../storage/reports.js';
import { WalkPace } from '../timing/walk-pace.js';
import { failureMessage } from '../values/failure-text.js';

/** Failures of this process that one look is for. Of those that come faster the check alone tells. */
const most = 1_000;

/** A table that refuses every next attempt is not asked for each of them. */
const mostTries = 100;

/** From one check of the newest rows to the next, and how long it may take. */
const [checkMs, checkTimeoutMs] = [60_000, 2_000];

/**
 * A net under what ends. An attempt fails and has its next attempt, or its dead task, in one commit, and a publication its
 * deliveries; whatever takes that away, a trigger, a hand or a bug, would lose the task in silence. So a worker that has failed
 * attempts looks a moment later, by their ids, whether what follows them is there. A next attempt that is missing and not due yet is
 * inserted, the rest is told. At most once a minute the newest rows are checked as well, also for what a worker that is lost
 * cannot look for any more, for what operators have retried or buried in this process, and for attempts that run while nobody holds
 * them. Where nothing ends and nobody is lost, nothing is asked.
 */
export class TableWatch {
  readonly #database: Pick<QueueDatabase, 'attempts' | 'classify' | 'interop' | 'reports'>;
  readonly #bell: Pick<Bell, 'ring'>;
  readonly #events: QueueEvents;
  readonly #purgeMaxAgeDays: number;
  /** From a failure to the look, and from one look to the next. */
  readonly #intervalMs: number;
  readonly #failed = new Set<string>();
  readonly #pace = new WalkPace(checkMs);
  /** Attempts that were told. */
  readonly #told = new Set<string>();
  /** Attempts that nobody held at the last check. */
  #unheld: ReadonlySet<string> = new Set();
  #started = false;
  #stopListening: readonly (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  /** One after the other: a check finds nothing that a look is about to mend. */
  #looking: Promise<void> = Promise.resolve();

  constructor(
    database: Pick<QueueDatabase, 'attempts' | 'classify' | 'interop' | 'reports'>,
    bell: Pick<Bell, 'ring'>,
    events: QueueEvents,
    purgeMaxAgeDays: number,
    intervalMs: number,
  ) {
    this.#database = database;
    this.#bell = bell;
    this.#events = events;
    this.#purgeMaxAgeDays = purgeMaxAgeDays;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    if (this.#started) return;
    const note = ({ task }: { readonly task: { readonly id: string } }): void => this.#note([task.id]);
    this.#started = true;
    this.#stopListening = [
      this.#events.on('task.failed', note),
      this.#events.on('task.recovered', note),
      this.#events.on('publication.delivered', () => this.checkSoon()),
    ];
  }

  /** Looks for the last time, where something has ended since the look before: nobody else knows of it. */
  async stop(): Promise<void> {
    this.#started = false;
    for (const stop of this.#stopListening) stop();
    clearTimeout(this.#timer);
    clearTimeout(this.#checkTimer);
    if (this.#timer) this.#lookNext();
    if (this.#checkTimer) this.#checkNext();
    await this.#looking;
  }

  /** Something may be missing that this process has not written. */
  checkSoon(): void {
    // Programs beside this library do in several commits what it does in one.
    if (!this.#started || this.#database.interop) return;
    const inMs = Math.max(this.#intervalMs, this.#pace.dueInMs);
    this.#checkTimer ??= setTimeout(() => this.#checkNext(), inMs).unref();
  }

  #note(ids: Iterable<string>): void {
    if (!this.#started) return;
    for (const id of ids) if (this.#failed.size < most) this.#failed.add(id);
    this.#timer ??= setTimeout(() => this.#lookNext(), this.#intervalMs).unref();
    this.checkSoon();
  }

  #lookNext(): void {
    this.#timer = undefined;
    this.#looking = this.#looking.then(() => this.#look());
  }

  /** What ends from now on asks for another one. */
  #checkNext(): void {
    this.#checkTimer = undefined;
    this.#looking = this.#looking.then(() => this.#checkNewest().catch(() => this.checkSoon()));
  }

  async #look(): Promise<void> {
    const ids = [...this.#failed];
    this.#failed.clear();
    // Whatever is wrong with the database, the worker's own statements meet it too, and say so.
    await this.#follow(ids).catch(() => this.#note(ids));
  }

  async #checkNewest(): Promise<void> {
    const began = performance.now();
    const found = await this.#database.reports
      .check({
        since: undefined,
        newest: newestLimit,
        purgeMaxAgeDays: this.#purgeMaxAgeDays,
        timeoutMs: checkTimeoutMs,
        ofWorker: true,
      })
      .finally(() => this.#pace.ended(performance.now() - began));
    for (const { kind, ids } of found) {
      const untold = ids.filter((id) => !this.#told.has(id));
      if (kind === 'no-next-attempt') await this.#follow(untold);
      else if (kind !== 'no-worker') this.#tell(kind, untold, false);
    }
    this.#tellUnheld(found.find(({ kind }) => kind === 'no-worker')?.ids ?? []);
  }

  /** Recovery mends what names a worker, and needs a moment for it: so those count that the next check finds as well. */
  #tellUnheld(ids: readonly string[]): void {
    const untold = ids.filter((id) => !this.#told.has(id));
    const [lasting, fresh] = [true, false].map((was) => untold.filter((id) => this.#unheld.has(id) === was));
    this.#unheld = new Set(ids);
    this.#tell('no-worker', lasting ?? [], false);
    if (fresh && fresh.length > 0) this.checkSoon();
  }

  async #follow(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const found = await this.#database.attempts.findUnfollowed(ids);
    if (found.length > 0) await this.#mend(found);
  }

  async #mend(found: readonly UnfollowedAttempt[]): Promise<void> {
    const sentAt = performance.now();
    const refused = await this.#insertNext(found);
    const left = await this.#database.attempts.findUnfollowed(found.map(({ id }) => id));
    const mended = found.filter(({ id }) => !left.some((one) => one.id === id));
    if (mended.length > 0) void this.#bell.ring('tasks', { later: true, sentAt });
    this.#tell('no-next-attempt', idsOf(mended, 'no-next-attempt'), true);
    this.#tell('no-next-attempt', idsOf(left, 'no-next-attempt'), false, refused);
    this.#tell('no-dead-task', idsOf(left, 'no-dead-task'), false);
  }

  /** Returns why the database refuses some of them; one that it refuses keeps no other away. */
  async #insertNext(found: readonly UnfollowedAttempt[]): Promise<string | undefined> {
    const {
      refused: [first],
    } = await byHalves(
      idsOf(found, 'no-next-attempt'),
      (ids) => this.#database.attempts.insertNext(ids),
      (error) => blamesRow(this.#database.classify(error)),
      mostTries,
    );
    return first && failureMessage(first.error);
  }

  #tell(kind: InconsistencyKind, ids: readonly string[], mended: boolean, refused?: string): void {
    if (ids.length === 0) return;
    if (this.#told.size > most) this.#told.clear();
    for (const id of ids) this.#told.add(id);
    this.#events.emit('table.inconsistent', { kind, ids, mended, refused });
  }
}

function idsOf(attempts: readonly UnfollowedAttempt[], kind: InconsistencyKind): readonly string[] {
  return attempts.filter((one) => one.kind === kind).map(({ id }) => id);
}
