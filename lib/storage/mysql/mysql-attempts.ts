import type {
  AttemptOutcome,
  Claim,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  HeldTask,
  NextDue,
  PromoteResult,
  ProgressNote,
  PublicationClaim,
  Route,
  StandingClaim,
  UnfollowedAttempt,
  WorkerId,
} from '../attempt.js';
import type { AttemptStore } from '../attempts.js';
import { readBoolean } from '../columns.js';
import { everyTopic } from '../route.js';
import { blamesRow } from '../error-kind.js';
import { readUnfollowed } from '../inconsistencies.js';
import type { RowsApart } from '../rows-apart.js';
import { attemptOutcomes, readHeldTask, readStanding } from '../task-row.js';
import {
  unknownAtOnce,
  type AwaitedRoutes,
  type RouteHead,
  type RouteRange,
  type WaitingRoute,
} from '../waiting-route.js';
import {
  failAttempts,
  fanOutPublications,
  insertUnfollowed,
  noteAttempts,
  releaseAttempts,
  snoozeAttempts,
} from './attempt-ends.js';
import { readHandledDead } from './claims/unattended-ids.js';
import { repeated, type Run } from './connections/transactions.js';
import { classifyError } from './mysql-errors.js';
import type { ServerAccess } from './other-ways.js';
import { readWaiting, timeMs } from './read-waiting.js';
import { RefusedRows } from './refused-rows.js';
import { idsJson, readHeld, readOutcome, standing } from './statements/held.js';
import { loadPayload, pausedRoutes } from './statements/look.js';
import { lockDue, lookAtSchedule, promote } from './statements/promote.js';
import { handOver } from './statements/release.js';
import { findUnfollowed } from './statements/unfollowed.js';
import { deadForUs, idleLook, nextRoute } from './statements/waiting.js';
import { explainFanOut, noSubscriptions } from './transaction-errors.js';
import { walkRoutes } from './walk-routes.js';

/** {@link AttemptStore} in the queue's table. */
export class MysqlAttempts implements AttemptStore {
  readonly #access: ServerAccess;
  readonly #apart: RowsApart;
  readonly #fansOut: boolean;

  /**
   * @param options.apart attempts that promotions leave out
   * @param options.fansOut true where the queue has a subscriptions table
   */
  constructor(
    access: ServerAccess,
    { apart, fansOut }: { readonly apart: RowsApart; readonly fansOut: boolean },
  ) {
    this.#access = access;
    this.#apart = apart;
    this.#fansOut = fansOut;
  }

  async failMany(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    if (failures.length === 0) return [];
    const { tables, prepared } = this.#access;
    return this.#access.transaction((run) =>
      failAttempts(run, tables, failures, prepared.server.maxPacketBytes),
    );
  }

  async snoozeMany(snoozed: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    if (snoozed.length === 0) return [];
    const { tables, prepared } = this.#access;
    return this.#access.transaction((run) =>
      snoozeAttempts(run, tables, snoozed, prepared.server.maxPacketBytes),
    );
  }

  async noteProgress(workerId: WorkerId, notes: readonly ProgressNote[]): Promise<void> {
    const { tables, prepared } = this.#access;
    return this.#access.transaction((run) =>
      noteAttempts(run, tables, workerId, notes, prepared.server.maxPacketBytes),
    );
  }

  async releaseMany(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    if (claims.length === 0) return [];
    const { tables } = this.#access;
    return this.#access.transaction((run) => releaseAttempts(run, tables, workerId, claims));
  }

  async handOver(claim: Claim, from: WorkerId, to: WorkerId): Promise<boolean> {
    const { id, reservation } = claim;
    await this.#access.change(handOver(this.#access.tables), [to, id, reservation, from]);
    return (await this.standing(to, [id])).some(
      (held) => held.reservation === reservation && !held.completed,
    );
  }

  async fanOutMany(
    workerId: WorkerId,
    publications: readonly PublicationClaim[],
  ): Promise<readonly FanOutOutcome[]> {
    const { tables, prepared, own, ways } = this.#access;
    const { queue, seal, subscriptions } = tables;
    const copying = { seals: prepared.seals, copy: ways.copyPublications };
    if (!this.#fansOut || subscriptions === undefined) throw noSubscriptions();
    if (publications.length === 0) return [];
    return own
      .use((run) =>
        repeated(run, () =>
          fanOutPublications(run, { queue, seal, subscriptions }, workerId, publications, copying),
        ),
      )
      .catch((error: unknown) => {
        throw explainFanOut(error, subscriptions);
      });
  }

  async promote(limit: number): Promise<PromoteResult> {
    const refused = new RefusedRows(this.#access, this.#apart);
    return this.#apart.around(
      () => this.#promoteDue(limit),
      async (error) => blamesRow(classifyError(error)) && refused.setDueApart(limit),
    );
  }

  async #promoteDue(limit: number): Promise<PromoteResult> {
    const { until } = this.#apart;
    await this.#access.ways.scheduleFuture?.(this.#access);
    const look = await this.#lookAtSchedule((text, values) =>
      this.#access.controlled().several(text, values),
    );
    // What is due beside what another session has locked is found by the statement that locks.
    const isDue = look.nextDueInMs !== undefined && look.nextDueInMs <= 0;
    const result = limit > 0 && isDue ? await this.#promote(limit) : look;
    return this.#apart.announcedDue(result, until);
  }

  async nextDue(
    workerId: WorkerId,
    asksHeld: boolean,
    { ranges, deadRoutes, unknown }: AwaitedRoutes,
  ): Promise<NextDue> {
    const { text, values } = idleLook(this.#access.tables, ranges, workerId, asksHeld);
    const [row] = await this.#access.ask(text, values);
    const isDue =
      readBoolean(row?.['pending']) || (readBoolean(row?.['dead']) && (await this.#isDeadForUs(deadRoutes)));
    const scheduled = row?.['next_due_ms'] == null ? undefined : Number(row['next_due_ms']);
    return {
      inMs: isDue ? Math.min(0, scheduled ?? 0) : scheduled,
      pending: (await this.#heads(unknown, unknownAtOnce)).map(({ route }) => route),
      holding: readBoolean(row?.['holding']),
      halted: row?.['halted'] == null ? undefined : readBoolean(row['halted']),
    };
  }

  async loadPayload(id: string): Promise<string | null> {
    const { rows } = await this.#access.own.query(loadPayload(this.#access.tables), [id]);
    return rows[0]?.['payload'] ?? null;
  }

  async readOutcome(workerId: WorkerId, { id, reservation }: Claim): Promise<AttemptOutcome> {
    const { rows } = await this.#access.own.query(readOutcome(this.#access.tables), [id]);
    const row = rows[0];
    const isOurs = row?.['executor'] === workerId && Number(row['reserva']) === reservation;
    return (isOurs && attemptOutcomes.get(row['status'])) || 'lost';
  }

  async standing(workerId: WorkerId, ids: readonly string[]): Promise<readonly StandingClaim[]> {
    if (ids.length === 0) return [];
    const rows = await this.#access.ask(standing(this.#access.tables), [idsJson(ids), workerId]);
    return rows.map(readStanding);
  }

  async heldBy(workerId: WorkerId, limit: number, lost = false): Promise<readonly HeldTask[]> {
    const { tables, identity } = this.#access;
    const rows = await this.#access.ask(readHeld(tables), [workerId, lost, workerId, limit]);
    return rows.map((row) => readHeldTask(row, workerId, identity));
  }

  async findUnfollowed(ids: readonly string[]): Promise<readonly UnfollowedAttempt[]> {
    const json = idsJson(ids);
    return (await this.#access.ask(findUnfollowed(this.#access.tables), [json, json])).map(readUnfollowed);
  }

  insertNext(ids: readonly string[]): Promise<void> {
    return this.#access.transaction((run) => insertUnfollowed(run, this.#access.tables, ids));
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    const rows = await this.#access.ask(pausedRoutes(this.#access.tables));
    return rows.map((row) => String(row['route']));
  }

  async routeHeads(ranges: readonly RouteRange[], limit: number): Promise<readonly RouteHead[]> {
    const heads = await this.#heads(ranges, limit);
    return heads.map(({ route, priority, due }) => ({
      route,
      // Null sorts last here.
      priority: priority === null ? -Infinity : Number(priority),
      dueMs: timeMs(due),
    }));
  }

  waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return this.#access.controlled().use((run) => readWaiting(run, this.#access.tables));
  }

  #heads(ranges: readonly RouteRange[], limit: number): ReturnType<typeof walkRoutes> {
    return this.#access
      .controlled()
      .use((run) => walkRoutes(run, this.#access.tables.queue, ranges, limit, nextRoute));
  }

  #promote(limit: number): Promise<PromoteResult> {
    const { tables } = this.#access;
    return this.#access.transaction(async (run) => {
      const { text, values } = lockDue(tables, this.#apart, limit);
      const due = (await run(`start transaction;\n${text}`, values)).at(-1)?.rows ?? [];
      if (due.length > 0) await run(promote(tables), [idsJson(due.map((row) => String(row['id'])))]);
      const look = await this.#lookAtSchedule(run);
      await run('commit');
      const earliest = due[0]?.['data_hora'];
      return {
        ...look,
        promoted: due.length,
        earliestMs: earliest == null ? undefined : Date.parse(earliest) || 0,
      };
    });
  }

  async #lookAtSchedule(run: Run): Promise<PromoteResult> {
    const { text, values } = lookAtSchedule(this.#access.tables, this.#apart);
    const row = (await run(text, values)).at(-1)?.rows[0];
    const nextDue = row?.['next_due_ms'];
    return {
      promoted: 0,
      earliestMs: undefined,
      nextDueInMs: nextDue == null ? undefined : Number(nextDue),
      isolated: readBoolean(row?.['isolated']),
    };
  }

  async #isDeadForUs(deadRoutes: readonly Route[]): Promise<boolean> {
    const { tables } = this.#access;
    const handled = await readHandledDead(this.#access);
    const { text, values } = deadForUs(tables, deadRoutes, handled, everyTopic);
    const [row] = await this.#access.ask(text, values);
    return readBoolean(row?.['found']);
  }
}
