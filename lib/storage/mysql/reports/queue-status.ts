import { livenessPrefix } from '../../../coordination/lock-names.js';
import { readDate } from '../../columns.js';
import {
  readBuried,
  readEnded,
  readIndexes,
  readNext,
  readPaused,
  readPlaces,
  readRunning,
  readScheduled,
  readSize,
  readSnapshot,
  readUnheard,
  readWorkers,
  type Rows,
} from '../../read-status.js';
import type { StatusRequest } from '../../reports.js';
import type { SnapshotHolder, StatusReport, UnknownSection } from '../../status-report.js';
import { statusOf } from '../../status-sections.js';
import { servedRoutes } from '../../unserved-routes.js';
import type { Upkeep } from '../../upkeep.js';
import { rowsOf } from '../administration/answered.js';
import { momentOf } from '../administration/moments.js';
import type { OwnPool } from '../connections/own-pool.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { lockPrefix } from '../lock-name.js';
import { classifyError } from '../mysql-errors.js';
import { isRefusal } from '../schema/refusals.js';
import { describeServer } from '../schema/server.js';
import { listPaused } from '../statements/admin.js';
import * as sql from '../statements/status.js';
import { limited } from './limited.js';
import { readPendingCounts } from './pending-counts.js';
import { readPendingPlaces } from './pending-places.js';
import { countPurgeable } from './purgeable.js';
import { withRoutes } from './worker-rows.js';

const defaultTimeoutMs = 5_000;
const defaultSinceMs = 3_600_000;

/** Reads one part of a status; undefined, with a note why, when that failed. The others are read anyway. */
type ReadSection = <T>(section: string, read: () => Promise<T>) => Promise<T | undefined>;

/**
 * Reads how a queue stands: what operators look at first. It costs about the same whatever the size of the table: counts stop at
 * a limit and say so. What takes too long, or is not allowed, is left out and named. Parts are read one after the other, so
 * numbers of different parts may differ by what happened since.
 */
export async function readQueueStatus(
  tables: QueueTables,
  own: Pick<OwnPool, 'use'>,
  upkeep: Pick<Upkeep, 'findPurgeable'>,
  request: StatusRequest,
): Promise<StatusReport> {
  const { timeoutMs = defaultTimeoutMs, purgeMaxAgeDays } = request;
  const unknown: UnknownSection[] = [];
  const section = sectionReader(unknown);
  const report = await limited(own, timeoutMs, (run) => readParts(run, tables, request, section));
  const purgeable =
    request.purgeable === false
      ? null
      : await section('purgeable', () => countPurgeable(upkeep, purgeMaxAgeDays, timeoutMs));
  return { ...report, purgeable: purgeable ?? null, purgeMaxAgeDays, unknown };
}

async function readParts(
  run: Run,
  tables: QueueTables,
  { since = new Date(Date.now() - defaultSinceMs), ended: countsEnded }: StatusRequest,
  section: ReadSection,
): Promise<Omit<StatusReport, 'purgeable' | 'purgeMaxAgeDays' | 'unknown'>> {
  const rowsIn = <T>(name: string, text: string, values: unknown[], read: (rows: Rows) => T) =>
    section(name, async () => read(await rowsOf(run, text, values)));
  const ofTable = [tables.database, tables.table];
  const [basics] = await rowsOf(run, sql.statusBasics);

  const rows = await section('lag', () => readPendingPlaces(run, tables));
  const places = rows && readPlaces(rows);
  const pending = await section('pending', () => readPendingCounts(run, tables, rows ?? []));
  const scheduled = await rowsIn('scheduled', sql.scheduledCounts(tables), [], readScheduled);
  const next = await rowsIn('nextScheduled', sql.nextScheduled(tables), [1], readNext);
  const buried = await rowsIn('buried', sql.buriedCounts(tables), [], readBuried);
  const running = await rowsIn('running', sql.runningAttempts(tables), [], readRunning);
  const prefix = lockPrefix(livenessPrefix(tables.qualifiedName));
  const workers = await rowsIn('workers', sql.livingWorkers(tables), [prefix], (found) =>
    readWorkers(withRoutes(found)),
  );
  const paused = await rowsIn('paused', listPaused(tables), [], readPaused);
  const unheard =
    tables.subscriptions === undefined || workers === undefined
      ? []
      : await rowsIn(
          'subscriptions',
          sql.unheardSubscriptions(tables),
          [JSON.stringify(servedRoutes(workers))],
          readUnheard,
        );
  const ended =
    countsEnded === false
      ? undefined
      : await rowsIn('ended', sql.endedCounts(tables), [momentOf(since.toISOString())], readEnded);
  const size = await rowsIn('size', sql.tableSize, ofTable, readSize);
  // Only InnoDB tells the sizes of indexes, and whose transactions are open.
  const isInnodb = tables.dialect === 'mysql';
  const indexes = isInnodb ? await rowsIn('indexes', sql.indexSizes, ofTable, readIndexes) : undefined;
  const sessions = isInnodb ? await section('oldestSnapshot', () => readSessions(run)) : undefined;
  return statusOf(
    {
      table: tables.qualifiedName,
      at: readDate(basics?.['at']) ?? new Date(),
      serverVersion: describeServer(String(basics?.['server_version']), tables.dialect),
      endedSince: since,
      seesAllSessions: sessions?.seesAll ?? false,
      notifyUsage: null,
    },
    {
      places,
      pending,
      scheduled,
      next,
      buried,
      running,
      workers,
      paused,
      unheard,
      ended,
      size,
      indexes,
      snapshot: sessions?.oldest,
    },
    false,
  );
}

/** Only users with the right `process` see the sessions of others. */
async function readSessions(
  run: Run,
): Promise<{ readonly seesAll: boolean; readonly oldest: SnapshotHolder | undefined }> {
  try {
    return { seesAll: true, oldest: readSnapshot(await rowsOf(run, sql.oldestSnapshot)) };
  } catch (error) {
    if (isRefusal(error)) return { seesAll: false, oldest: undefined };
    throw error;
  }
}

function sectionReader(unknown: UnknownSection[]): ReadSection {
  return async (section, read) => {
    try {
      return await read();
    } catch (error) {
      const kind = classifyError(error);
      // Then the others cannot be read either.
      if (kind === 'connection') throw error;
      // Their URLs and headers may hold secrets: a user who only looks is not meant to see them.
      if (section === 'subscriptions' && isRefusal(error)) return undefined;
      unknown.push({ section, reason: reasonOf(kind, error) });
      return undefined;
    }
  };
}

function reasonOf(kind: ReturnType<typeof classifyError>, error: unknown): string {
  if (kind === 'timeout') return 'it took too long';
  return kind === 'locked' ? 'the table is locked' : String((error as { message?: unknown }).message);
}
