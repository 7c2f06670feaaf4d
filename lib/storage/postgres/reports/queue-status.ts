import type { SqlHandle } from '../../sql-handle.js';
import { livenessPrefix } from '../../../coordination/lock-names.js';
import { readDate } from '../../columns.js';
import {
  readBuried,
  readEnded,
  readIndexes,
  readNext,
  readPaused,
  readPending,
  readPlaces,
  readRunning,
  readScheduled,
  readSize,
  readSnapshot,
  readUnheard,
  readWorkers,
  rowsOfPlace,
  type Rows,
} from '../../read-status.js';
import type { StatusRequest } from '../../reports.js';
import type { StatusReport, UnknownSection } from '../../status-report.js';
import { statusOf } from '../../status-sections.js';
import { servedRoutes } from '../../unserved-routes.js';
import type { Upkeep } from '../../upkeep.js';
import type { QueueTables } from '../identifiers.js';
import type { RunTransaction } from '../partitions/short-transaction.js';
import { isDataError, queryBytes, type ReadRows } from '../readable-rows.js';
import { listPaused } from '../statements/admin.js';
import * as sql from '../statements/status.js';

const defaultTimeoutMs = 5_000;
const defaultSinceMs = 3_600_000;
/** Rows of a window, and windows, that are looked at for what can be purged. */
const windowRows = 10_000;
const mostWindows = 5;

/**
 * Reads how a queue stands: what operators look at first. It costs about the same whatever the size of the table: counts stop at
 * a limit and say so. What takes too long, or is not allowed, is left out and named. Parts are read one after the other, so
 * numbers of different parts may differ by what happened since.
 *
 * @param interop true when workers of nsj-queue-lib serve the same table: they take every topic and register nowhere
 */
export async function readQueueStatus(
  tables: QueueTables,
  transaction: RunTransaction,
  upkeep: Pick<Upkeep, 'findPurgeable'>,
  interop: boolean,
  request: StatusRequest,
): Promise<StatusReport> {
  const { timeoutMs = defaultTimeoutMs, since = new Date(Date.now() - defaultSinceMs) } = request;
  const { purgeMaxAgeDays } = request;
  const unknown: UnknownSection[] = [];
  const report = await transaction(async (tx) => {
    await tx.query(sql.statusSettings(timeoutMs));
    const [basics] = (await tx.query(sql.statusBasics)).rows;
    const ask = sectionReader(tx, unknown);
    const prefix = livenessPrefix(tables.qualifiedName);

    await tx.query(sql.walkSettings);
    const places = await ask('lag', sql.pendingPlaces(tables), [], readPlaces);
    const { ids = [], isCut = false } = places ?? {};
    const perPlace = [ids, rowsOfPlace(ids.length)];
    const pending = await ask('pending', sql.pendingCounts(tables), perPlace, (rows) =>
      readPending(rows, isCut),
    );
    const scheduled = await ask('scheduled', sql.scheduledCounts(tables), [], readScheduled);
    const next = await ask('nextScheduled', sql.nextScheduled(tables), [], readNext);
    const buried = await ask('buried', sql.buriedCounts(tables), [], readBuried);
    await tx.query(sql.otherSettings);
    const running = await ask('running', sql.runningAttempts(tables), [], readRunning);
    const workers = await ask('workers', sql.livingWorkers(tables), [prefix], readWorkers);
    const paused = await ask('paused', listPaused(tables), [], readPaused);
    const unheard =
      interop || tables.subscriptions === undefined || workers === undefined
        ? []
        : await ask('subscriptions', sql.unheardSubscriptions(tables), [servedRoutes(workers)], readUnheard);
    const ended =
      request.ended === false
        ? undefined
        : await ask('ended', sql.endedCounts(tables), [since.toISOString()], readEnded);
    const size = await ask('size', sql.tableSize, [tables.queue], readSize);
    const indexes = await ask('indexes', sql.indexSizes, [tables.queue], readIndexes);
    const snapshot = await ask('oldestSnapshot', sql.oldestSnapshot, [], readSnapshot);
    return statusOf(
      {
        table: tables.qualifiedName,
        at: readDate(basics?.['at']) ?? new Date(),
        serverVersion: `PostgreSQL ${String(basics?.['server_version'])}`,
        endedSince: since,
        seesAllSessions: basics?.['sees_all_sessions'] === true,
        notifyUsage: Number(basics?.['notify_usage']),
      },
      {
        ...{ places, pending, scheduled, next, buried, running, workers, paused, unheard, ended, size },
        ...{ indexes, snapshot },
      },
      interop,
    );
  });
  const purgeable =
    request.purgeable === false
      ? null
      : await countPurgeable(upkeep, purgeMaxAgeDays, timeoutMs).catch(noteIn(unknown, 'purgeable'));
  return { ...report, purgeable: purgeable ?? null, purgeMaxAgeDays, unknown };
}

/** Counts among the oldest rows; the time is checked between two windows, each of which is quick. */
async function countPurgeable(
  upkeep: Pick<Upkeep, 'findPurgeable'>,
  olderThanDays: number,
  timeoutMs: number,
): Promise<StatusReport['purgeable']> {
  const deadline = performance.now() + timeoutMs;
  let count = 0;
  let after: string | undefined;
  for (let window = 0; window < mostWindows && performance.now() < deadline; window += 1) {
    const { blocks, last, goesOn } = await upkeep.findPurgeable({
      olderThanDays,
      after,
      rows: windowRows,
      blockRows: windowRows,
    });
    count += blocks.reduce((sum, block) => sum + block.length, 0);
    if (!goesOn) return { count, isCapped: false };
    after = last;
  }
  return { count, isCapped: true };
}

/** Reads one part; undefined, with a note why, when that failed. The others are read anyway. */
function sectionReader(
  tx: SqlHandle,
  unknown: UnknownSection[],
): <T>(section: string, text: string, values: unknown[], read: (rows: Rows) => T) => Promise<T | undefined> {
  const ask = async (text: string, values: unknown[], query: ReadRows): Promise<Rows> => {
    await tx.query('savepoint section');
    try {
      const { rows } = await query(tx, text, values);
      await tx.query('release savepoint section');
      return rows;
    } catch (error) {
      // Also fails when the connection is gone, and then so does the whole report.
      await tx.query('rollback to savepoint section');
      throw error;
    }
  };
  return async (section, text, values, read) => {
    try {
      return read(await ask(text, values, (handle, ...query) => handle.query(...query)));
    } catch (error) {
      if (!isDataError(error)) return noteIn(unknown, section)(error);
      return ask(text, values, queryBytes).then(read, noteIn(unknown, section));
    }
  };
}

function noteIn(unknown: UnknownSection[], section: string): (error: unknown) => undefined {
  return (error) => {
    const { code, message } = error as { code?: unknown; message?: unknown };
    // Their URLs and headers may hold secrets: a role that only looks is not meant to see them.
    if (section === 'subscriptions' && code === '42501') return undefined;
    const reason =
      code === '57014' ? 'it took too long' : code === '55P03' ? 'the table is locked' : String(message);
    unknown.push({ section, reason });
    return undefined;
  };
}
