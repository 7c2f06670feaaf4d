import { createHash } from 'node:crypto';
import { column, statusColumn, type Row } from '../columns.js';
import type { Claim, Route, WorkerId } from '../attempt.js';
import type { SubscriptionRecord } from '../subscriptions.js';
import { longestLeaseMs, type WorkerDescription } from '../workers.js';
import { firstIdOf, instant, isDead, isHeldBy, type MemoryRow } from './memory-row.js';

/** A worker as its registry keeps it; times are ms since 1970. */
export interface MemoryWorker extends WorkerDescription {
  stoppedAt?: number | undefined;
  missedAt?: number | undefined;
  halted?: boolean;
  leaseUntil?: number | undefined;
}

/** What a queue holds in memory, and its clock. Every part of its database works on the same one. */
export class MemoryTable {
  readonly workers = new Map<WorkerId, MemoryWorker>();
  readonly subscriptions = new Map<string, SubscriptionRecord>();
  /** Since when, in ms since 1970. */
  readonly paused = new Map<Route, number>();
  readonly #now: () => number;
  #travelledMs = 0;
  #ids = 0;
  /** By id, oldest first. */
  readonly #rows = new Map<string, MemoryRow>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get nowMs(): number {
    return this.#now() + this.#travelledMs;
  }

  travel(ms: number): void {
    this.#travelledMs += ms;
  }

  /** True while a worker's lease runs. */
  isLeased({ leaseUntil = 0 }: Pick<MemoryWorker, 'leaseUntil'>): boolean {
    return leaseUntil > this.nowMs && leaseUntil <= this.nowMs + longestLeaseMs;
  }

  /** Oldest first. */
  get rows(): readonly MemoryRow[] {
    return [...this.#rows.values()];
  }

  row(id: string): MemoryRow | undefined {
    return this.#rows.get(id);
  }

  /** The row, if the worker holds it by that claim. */
  held(workerId: WorkerId, claim: Claim): MemoryRow | undefined {
    const row = this.row(claim.id);
    return row && isHeldBy(row, workerId, claim) ? row : undefined;
  }

  /** All attempts of the chain that an attempt belongs to, oldest first. */
  chainOf(id: string): readonly MemoryRow[] {
    const row = this.row(id);
    return row ? this.rows.filter((other) => firstIdOf(other) === firstIdOf(row)) : [];
  }

  /** Adds a row; what is left out has the defaults of a task that is due now. */
  add(row: MemoryRow): MemoryRow {
    this.#ids += 1;
    const id = String(this.#ids);
    const due = row[column.dueAt] ?? instant(this.nowMs);
    const isLater = Date.parse(due) > this.nowMs;
    const added: MemoryRow = {
      [column.attempt]: '1',
      reserva: '0',
      perdas: '0',
      rodada: '0',
      [column.dead]: 'false',
      [column.publication]: 'false',
      [column.firstDueAt]: due,
      [column.status]: isLater ? statusColumn.scheduled : statusColumn.pending,
      ...row,
      id,
      [column.dueAt]: due,
    };
    this.#rows.set(id, added);
    return added;
  }

  /** Makes a row the worker's. */
  hold(row: MemoryRow, workerId: WorkerId): void {
    row[column.status] = statusColumn.processing;
    row['executor'] = workerId;
    row['reserva'] = String(Number(row['reserva']) + 1);
    row[column.startedAt] = instant(this.nowMs);
  }

  /** Ends a row as succeeded. */
  complete(row: MemoryRow, message: string, result: string | null): void {
    row[column.status] = statusColumn.succeeded;
    row[column.message] = message;
    row[column.result] = result;
    row[column.finishedAt] = instant(this.nowMs);
  }

  remove(ids: Iterable<string>): void {
    for (const id of ids) this.#rows.delete(id);
  }

  clear(): void {
    this.#rows.clear();
  }

  /** Payload text, wherever in its chain it is stored. */
  payloadOf(row: MemoryRow): string | null {
    const first = row[column.firstAttemptId];
    return row[column.payload] ?? (first == null ? null : (this.row(first)?.[column.payload] ?? null));
  }

  /** The row with its payload. */
  resolved(row: MemoryRow): Row {
    return { ...row, [column.payload]: this.payloadOf(row) };
  }

  /** When the task's very first attempt was due, for a dead one: its key is made of it. */
  keyTimeOf(row: MemoryRow): string | null {
    const live = isDead(row) ? row[column.liveId] : null;
    return live == null ? null : (this.row(live)?.[column.firstDueAt] ?? null);
  }
}

/** Names a queue in the keys of its tasks. */
export function memoryIdentity(table: string): string {
  return createHash('sha256').update(`memory ${table}`).digest('hex').slice(0, 32);
}
