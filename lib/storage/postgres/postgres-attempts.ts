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
import { blamesRow } from '../error-kind.js';
import { readUnfollowed } from '../inconsistencies.js';
import type { RowsApart } from '../rows-apart.js';
import { attemptOutcomes, readStanding } from '../task-row.js';
import {
  unknownAtOnce,
  type AwaitedRoutes,
  type RouteHead,
  type RouteRange,
  type WaitingRoute,
} from '../waiting-route.js';
import { failureValues, snoozeValues } from './attempt-values.js';
import { HeldTasks } from './held-tasks.js';
import type { QueueAccess } from './queue-access.js';
import { classifyError } from './postgres-errors.js';
import { readFailed, readNextDue, readPromoted } from './read-rows.js';
import { readWaiting } from './read-waiting.js';
import { readTextBytes } from './readable-rows.js';
import { RefusedRows } from './refused-rows.js';
import { explainTakenId } from './schema/id-sequence.js';
import { explainFanOut, noSubscriptions } from './transaction-errors.js';

/** {@link AttemptStore} in the queue's table. */
export class PostgresAttempts implements AttemptStore {
  readonly #access: QueueAccess;
  readonly #apart: RowsApart;
  readonly #fansOut: boolean;

  /**
   * @param options.apart attempts that promotions leave out
   * @param options.fansOut true where the queue has a subscriptions table
   */
  constructor(
    access: QueueAccess,
    { apart, fansOut }: { readonly apart: RowsApart; readonly fansOut: boolean },
  ) {
    this.#access = access;
    this.#apart = apart;
    this.#fansOut = fansOut;
  }

  async failMany(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    const { sql, texts, schema } = this.#access;
    const storable = failures.map((failure) => texts?.failure(failure) ?? failure);
    const rows = await this.#access.ask(sql.fail, failureValues(storable)).catch((error: unknown) => {
      throw explainTakenId(error, schema.tables);
    });
    return rows.map(readFailed);
  }

  async snoozeMany(snoozed: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    const { sql, texts } = this.#access;
    const storable = snoozed.map((one) => texts?.failure(one) ?? one);
    const rows = await this.#access.ask(sql.snooze, snoozeValues(storable));
    return rows
      .map(readFailed)
      .map((outcome) => (outcome.cancelled ? outcome : { ...outcome, snoozed: true }));
  }

  async noteProgress(workerId: WorkerId, notes: readonly ProgressNote[]): Promise<void> {
    const { sql, texts } = this.#access;
    const messages = notes.map((note) => texts?.message(note.message) ?? note.message);
    await this.#access.ask(sql.noteProgress, [
      notes.map(({ id }) => id),
      notes.map(({ reservation }) => reservation),
      messages,
      workerId,
    ]);
  }

  async releaseMany(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    const ids = claims.map(({ id }) => id);
    const reservations = claims.map(({ reservation }) => reservation);
    const rows = await this.#access.ask(this.#access.sql.release, [ids, reservations, workerId]);
    return rows.map((row) => String(row['id']));
  }

  async handOver({ id, reservation }: Claim, from: WorkerId, to: WorkerId): Promise<boolean> {
    return (await this.#access.ask(this.#access.sql.handOver, [id, reservation, from, to])).length > 0;
  }

  async fanOutMany(
    workerId: WorkerId,
    publications: readonly PublicationClaim[],
  ): Promise<readonly FanOutOutcome[]> {
    if (!this.#fansOut) throw noSubscriptions();
    const { sql, schema } = this.#access;
    const ids = publications.map(({ id }) => id);
    const reservations = publications.map(({ reservation }) => reservation);
    const statement = schema.seals ? sql.fanOut : sql.fanOutUnsealed;
    const values = [ids, reservations, workerId, publications.map(({ waits = false }) => waits)];
    const { rows } = await this.#access.onPool(statement, values).catch((error: unknown) => {
      throw explainFanOut(explainTakenId(error, schema.tables));
    });
    return rows.map((row) => ({ id: String(row['id']), deliveries: Number(row['deliveries']) }));
  }

  async promote(limit: number): Promise<PromoteResult> {
    const refused = new RefusedRows(this.#access, this.#apart);
    return this.#apart.around(
      () => this.#promote(limit),
      async (error) => blamesRow(classifyError(error)) && refused.setDueApart(limit),
    );
  }

  async #promote(limit: number): Promise<PromoteResult> {
    const { sql, interop } = this.#access;
    const { until, ids, routes } = this.#apart;
    const [row] = await this.#access.ask(interop ? sql.promoteInTurn : sql.promote, [limit, ids, routes]);
    return this.#apart.announcedDue(readPromoted(row), until);
  }

  async nextDue(
    workerId: WorkerId,
    asksHeld: boolean,
    { ranges, deadRoutes, unknown }: AwaitedRoutes,
  ): Promise<NextDue> {
    const values = [
      asksHeld ? workerId : null,
      workerId,
      ...boundsOf(ranges),
      deadRoutes,
      ...boundsOf(unknown),
      unknownAtOnce,
    ];
    const [row] = await this.#access.ask(this.#access.sql.nextDue, values);
    return readNextDue(row);
  }

  async loadPayload(id: string): Promise<string | null> {
    const { rows } = await this.#access.onPool(this.#access.sql.loadPayload, [id]);
    return (rows[0]?.['payload'] as string | null | undefined) ?? null;
  }

  async readOutcome(workerId: WorkerId, claim: Claim): Promise<AttemptOutcome> {
    const { rows } = await this.#access.onPool(this.#access.sql.readOutcome, [claim.id]);
    const row = rows[0];
    const isOurs = String(row?.['executor']) === workerId && Number(row?.['reserva']) === claim.reservation;
    return (isOurs && attemptOutcomes.get(row?.['status'])) || 'lost';
  }

  async standing(workerId: WorkerId, ids: readonly string[]): Promise<readonly StandingClaim[]> {
    return (await this.#access.ask(this.#access.sql.standing, [workerId, ids])).map(readStanding);
  }

  heldBy(workerId: WorkerId, limit: number, lost = false): Promise<readonly HeldTask[]> {
    return new HeldTasks(this.#access).of(workerId, limit, lost);
  }

  async findUnfollowed(ids: readonly string[]): Promise<readonly UnfollowedAttempt[]> {
    return (await this.#access.ask(this.#access.sql.findUnfollowed, [ids])).map(readUnfollowed);
  }

  async insertNext(ids: readonly string[]): Promise<void> {
    const { sql, schema, inOwnTransaction } = this.#access;
    await inOwnTransaction(async (tx) => {
      const { rows } = await tx.query(sql.lockUnfollowed.text, [ids]);
      await tx.query(sql.insertUnfollowed.text, [rows.map(({ id }) => String(id))]);
    }).catch((error: unknown) => {
      throw explainTakenId(error, schema.tables);
    });
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    const rows = await this.#access.ask(this.#access.sql.pausedRoutes, []);
    return rows.map((row) => readTextBytes(row['route'], row['encoding']));
  }

  async routeHeads(ranges: readonly RouteRange[], limit: number): Promise<readonly RouteHead[]> {
    const rows = await this.#access.ask(this.#access.sql.routeHeads, [...boundsOf(ranges), limit]);
    return rows.map((row) => ({
      route: String(row['route']),
      // Null sorts first, as the highest does.
      priority: row['prioridade'] == null ? Infinity : Number(row['prioridade']),
      dueMs: Date.parse(row['data_hora'] ?? '') || -Infinity,
    }));
  }

  async waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return readWaiting(await this.#access.ask(this.#access.sql.waitingRoutes, []), this.#access.interop);
  }
}

/** Two parameters: where ranges begin, and where they end. */
function boundsOf(ranges: readonly RouteRange[]): readonly [from: Route[], below: Route[]] {
  return [ranges.map(({ from }) => from), ranges.map(({ below }) => below)];
}
