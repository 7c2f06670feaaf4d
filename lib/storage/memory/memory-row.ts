import { column, statusColumn, statusTexts } from '../columns.js';
import type { Claim, Route, WorkerId } from '../attempt.js';
import { routeOf as routeOfAttempt } from '../route.js';

/** An attempt's row as a driver would read it: text by column. */
export type MemoryRow = Record<string, string | null>;

/** Columns that a next attempt and a dead chain copy. */
const copied = [
  column.origin,
  column.destination,
  column.topic,
  column.externalKey,
  column.tenant,
  column.group,
  column.publication,
  column.publicationId,
  column.subscriptionId,
  column.priority,
  'rodada',
  column.metadata,
];

/** What a next attempt and a dead chain have from the attempt before. */
export function copyOf(row: MemoryRow): MemoryRow {
  return Object.fromEntries(copied.map((name) => [name, row[name] ?? null]));
}

/** A time as a row has it. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}

export function dueMs(row: MemoryRow): number {
  return Date.parse(row[column.dueAt] ?? '');
}

export function isDead(row: MemoryRow): boolean {
  return row[column.dead] === 'true';
}

export function isPending(row: MemoryRow): boolean {
  return row[column.status] === statusColumn.pending;
}

export function isScheduled(row: MemoryRow): boolean {
  return row[column.status] === statusColumn.scheduled;
}

export function isRunning(row: MemoryRow): boolean {
  return row[column.status] === statusColumn.processing;
}

const endTexts: readonly unknown[] = [...statusTexts('succeeded'), ...statusTexts('failed')];

export function hasEnded(row: MemoryRow): boolean {
  return endTexts.includes(row[column.status]);
}

const failedTexts: readonly unknown[] = statusTexts('failed');

export function hasFailed(row: MemoryRow): boolean {
  return failedTexts.includes(row[column.status]);
}

/** True of a failed attempt that no other one follows: its task may be retried. */
export function hasFailedForGood(row: MemoryRow): boolean {
  return hasFailed(row) && row[column.retried] !== 'true';
}

/** True of an attempt that was cancelled: it has ended, or it runs and is to stop. */
export function isCancelled(row: MemoryRow): boolean {
  return row[column.cancelledBy] != null;
}

/** True while the worker holds the row; with a claim, only if it holds the row by that claim. */
export function isHeldBy(row: MemoryRow, workerId: WorkerId, claim?: Pick<Claim, 'reservation'>): boolean {
  const isClaims = claim === undefined || row['reserva'] === String(claim.reservation);
  return isRunning(row) && row['executor'] === workerId && isClaims;
}

/** Id of the first attempt of the row's chain. */
export function firstIdOf(row: MemoryRow): string {
  return String(row[column.firstAttemptId] ?? row[column.id]);
}

/** Names what is purged together: a chain with its dead chains, by the id of its first attempt. */
export function familyOf(row: MemoryRow): string {
  return isDead(row) ? (row[column.liveId] ?? firstIdOf(row)) : firstIdOf(row);
}

/** The route that workers serve the row by, isolated or not. */
export function plainRouteOf(row: MemoryRow): Route {
  return routeAfter(row, 0);
}

/** The route that the row is claimed by. */
export function routeOf(row: MemoryRow): Route {
  return routeAfter(row, Number(row['perdas']));
}

function routeAfter(row: MemoryRow, losses: number): Route {
  return routeOfAttempt({
    publication: row[column.publication] === 'true',
    dead: isDead(row),
    subscriptionId: row[column.subscriptionId] ?? null,
    topic: row[column.topic] ?? null,
    losses,
  });
}

export function isIsolated(row: MemoryRow): boolean {
  return routeOf(row) !== plainRouteOf(row);
}

/** By due time, then by id. */
export function compareAge(a: MemoryRow, b: MemoryRow): number {
  return dueMs(a) - dueMs(b) || Number(a[column.id]) - Number(b[column.id]);
}

/** The order of pick-up: the highest priority first, then by age. */
export function comparePickUp(a: MemoryRow, b: MemoryRow): number {
  return Number(b[column.priority]) - Number(a[column.priority]) || compareAge(a, b);
}
