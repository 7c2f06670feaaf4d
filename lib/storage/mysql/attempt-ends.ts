import type {
  Claim,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  ProgressNote,
  PublicationClaim,
  WorkerId,
} from '../attempt.js';
import { readEndedBy } from '../cancellation.js';
import type { Answer, TextRow } from './connections/answers.js';
import type { Run } from './connections/transactions.js';
import type { QueueTables } from './identifiers.js';
import {
  closeFailed,
  deadBefore,
  failedJson,
  failuresJson,
  insertNext,
  readFailed,
  startDead,
} from './statements/fail.js';
import {
  countCopies,
  firstCopy,
  insertCopies,
  settlePublications,
  type FanOutTables,
} from './statements/fan-out.js';
import { claimsJson, idsJson, lockHeld, type HeldClaim } from './statements/held.js';
import { noteProgress, readSnoozed, release, snooze } from './statements/release.js';
import { lockUnfollowed } from './statements/unfollowed.js';
import { beginInserts, endInserts } from './statement.js';
import { packetTooLarge } from './transaction-errors.js';

// How attempts end, each in two or three texts: the rows that are still held are locked, then changed.

/**
 * Closes attempts as failed and inserts their next attempts or dead chains. Rows that another session has locked are skipped, and
 * failed next time.
 *
 * @param run runs texts of one transaction, which begins and ends here
 */
export async function failAttempts(
  run: Run,
  tables: QueueTables,
  failures: readonly Failure[],
  maxPacketBytes: number,
): Promise<readonly FailureOutcome[]> {
  const held = await beginWith(run, tables, failures);
  const failed = unique(failures).filter(({ id }) => held.has(id));
  if (failed.length === 0) return endEmpty(run);
  const [json, ids] = [failuresJson(failed), failedJson(failed)];
  refuseTooLarge(json, maxPacketBytes);
  const buries = failed.some(({ next }) => next === undefined);
  const retries = failed.some(({ next }) => next !== undefined);
  const texts = [
    closeFailed(tables),
    ...(retries ? [insertNext(tables)] : []),
    ...(buries ? [deadBefore(tables), startDead(tables)] : []),
    readFailed(tables),
  ];
  const answers = await run([beginInserts(tables), ...texts, endInserts, 'commit'].join(';\n'), [
    json,
    ...texts.slice(1).map(() => ids),
  ]);
  const answerOf = (text: string): readonly TextRow[] => answers[texts.indexOf(text) + 1]?.rows ?? [];
  const before = new Set(answerOf(deadBefore(tables)).map(idOf));
  return answerOf(readFailed(tables)).map((row) => ({
    id: idOf(row),
    nextAttemptInMs: row['next_ms'] == null ? undefined : Number(row['next_ms']),
    deadId: before.has(idOf(row)) ? undefined : (row['dead_id'] ?? undefined),
    cancelled: readEndedBy(row),
  }));
}

/** Lets attempts wait until a time, as they are. */
export async function snoozeAttempts(
  run: Run,
  tables: QueueTables,
  snoozed: readonly Failure[],
  maxPacketBytes: number,
): Promise<readonly FailureOutcome[]> {
  const held = await beginWith(run, tables, snoozed);
  const kept = unique(snoozed).filter(({ id }) => held.has(id));
  if (kept.length === 0) return endEmpty(run);
  const [json, ids] = [failuresJson(kept), idsJson(kept.map(({ id }) => id))];
  refuseTooLarge(json, maxPacketBytes);
  const answers = await run([snooze(tables), readSnoozed(tables), 'commit'].join(';\n'), [json, ids]);
  return (answers[1]?.rows ?? []).map((row) => {
    const cancelled = readEndedBy(row);
    const nextAttemptInMs = cancelled ? undefined : Number(row['next_ms']);
    return {
      id: idOf(row),
      nextAttemptInMs,
      deadId: undefined,
      cancelled,
      ...(cancelled ? {} : { snoozed: true }),
    };
  });
}

/** Writes messages of attempts that run. Rows that another session has locked are left out. */
export async function noteAttempts(
  run: Run,
  tables: QueueTables,
  workerId: WorkerId,
  notes: readonly ProgressNote[],
  maxPacketBytes: number,
): Promise<void> {
  const held = await beginWith(run, tables, of(workerId, notes));
  const kept = notes
    .filter(({ id }) => held.has(id))
    .map(({ id, message }) => ({ id, message: message.toWellFormed() }));
  if (kept.length === 0) return void (await endEmpty(run));
  const json = JSON.stringify(kept);
  refuseTooLarge(json, maxPacketBytes);
  await run(`${noteProgress(tables)};\ncommit`, [json]);
}

/** Inserts next attempts that are missing, as when their attempts failed. */
export async function insertUnfollowed(
  run: Run,
  tables: Pick<QueueTables, 'queue'>,
  ids: readonly string[],
): Promise<void> {
  const locking = `start transaction;\n${lockUnfollowed(tables)}`;
  const locked = (await run(locking, [idsJson(ids)])).at(-1)?.rows ?? [];
  const rows = locked.map((row) => ({ id: idOf(row), nextLosses: Number(row['perdas']), untouched: 0 }));
  await run([beginInserts(tables), insertNext(tables), endInserts, 'commit'].join(';\n'), [
    JSON.stringify(rows),
  ]);
}

/** Gives attempts back that were claimed but not started. */
export async function releaseAttempts(
  run: Run,
  tables: QueueTables,
  workerId: WorkerId,
  claims: readonly Claim[],
): Promise<readonly string[]> {
  const held = await beginWith(run, tables, of(workerId, claims));
  if (held.size === 0) return endEmpty(run);
  const ids = [...held];
  await run(`${release(tables)};\ncommit`, [idsJson(ids)]);
  return ids;
}

/**
 * Delivers publications to their subscriptions and completes them.
 *
 * @param options.seals true where the key may be read that deliveries are sealed with
 */
export async function fanOutPublications(
  run: Run,
  tables: FanOutTables,
  workerId: WorkerId,
  publications: readonly PublicationClaim[],
  {
    seals,
    copy = copyPublications,
  }: { readonly seals: boolean; readonly copy?: CopyPublications | undefined },
): Promise<readonly FanOutOutcome[]> {
  const held = await beginWith(run, tables, of(workerId, publications));
  if (held.size === 0) return endEmpty(run);
  const ids = idsJson([...held]);
  const counted = await copy(run, tables, ids, seals);
  const waiting = new Set(publications.filter(({ waits }) => waits).map(({ id }) => id));
  const outcomes = counted
    .map((row) => ({ id: idOf(row), deliveries: Number(row['deliveries']) }))
    .filter(({ id, deliveries }) => deliveries > 0 || !waiting.has(id));
  if (outcomes.length === 0) return endEmpty(run);
  const messages = outcomes.map(({ id, deliveries }) => ({ id, message: deliveryMessage(deliveries) }));
  await run(`${settlePublications(tables)};\ncommit`, [JSON.stringify(messages)]);
  return outcomes;
}

/** Inserts the deliveries of some publications; returns rows of `id` and `deliveries`, by the publications' attempts. */
export type CopyPublications = (
  run: Run,
  tables: FanOutTables,
  ids: string,
  seals: boolean,
) => Promise<readonly TextRow[]>;

const copyPublications: CopyPublications = async (run, tables, ids, seals) => {
  const copying = [
    beginInserts(tables),
    insertCopies(tables, seals),
    firstCopy,
    endInserts,
    countCopies(tables),
  ].join(';\n');
  return (await run(copying, [ids, ids])).at(-1)?.rows ?? [];
};

function deliveryMessage(deliveries: number): string {
  if (deliveries === 0) return 'discarded: no active subscription matches';
  return `delivered to ${deliveries} subscription${deliveries === 1 ? '' : 's'}`;
}

/** Begins a transaction with locking what is still held; returns the ids. */
async function beginWith(
  run: Run,
  tables: Pick<QueueTables, 'queue'>,
  claims: readonly HeldClaim[],
): Promise<ReadonlySet<string>> {
  const answers: readonly Answer[] = await run(`start transaction;\n${lockHeld(tables)}`, [
    claimsJson(claims),
  ]);
  return new Set(answers.at(-1)?.rows.map(idOf));
}

async function endEmpty(run: Run): Promise<readonly never[]> {
  await run('rollback');
  return [];
}

function of(workerId: WorkerId, claims: readonly Claim[]): readonly HeldClaim[] {
  return claims.map(({ id, reservation }) => ({ id, reservation, workerId }));
}

/** An attempt fails once. */
function unique(failures: readonly Failure[]): readonly Failure[] {
  return [...new Map(failures.map((failure) => [failure.id, failure])).values()];
}

/** A server cuts the connection of who sends more than it takes, which would look like a server that is gone. */
function refuseTooLarge(json: string, maxPacketBytes: number): void {
  const escaped = json.match(/["'\\]/g)?.length ?? 0;
  if (Buffer.byteLength(json) + escaped > maxPacketBytes - roomForStatements) throw packetTooLarge();
}

const roomForStatements = 256 * 1024;

function idOf(row: TextRow): string {
  return String(row['id']);
}
