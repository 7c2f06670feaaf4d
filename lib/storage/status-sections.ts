import { mergeCounts, type PendingPlaces, type readRunning } from './read-status.js';
import type {
  BuriedCounts,
  NextTask,
  SnapshotHolder,
  StatusCount,
  StatusReport,
  TableSize,
  UnheardSubscription,
  WorkerStatus,
} from './status-report.js';
import type { Pause } from './pause.js';
import { findUnserved } from './unserved-routes.js';

/** What the sections of a status have read; undefined for those that could not be read, or were not asked for. */
export interface StatusSections {
  readonly places: PendingPlaces | undefined;
  readonly pending: readonly StatusCount[] | undefined;
  readonly scheduled: readonly StatusCount[] | undefined;
  readonly next: NextTask | undefined;
  readonly buried: BuriedCounts | undefined;
  readonly running: ReturnType<typeof readRunning> | undefined;
  readonly workers: readonly WorkerStatus[] | undefined;
  readonly paused: readonly Pause[] | undefined;
  readonly unheard: readonly UnheardSubscription[] | undefined;
  readonly ended: readonly StatusCount[] | undefined;
  readonly size: Omit<TableSize, 'indexes'> | undefined;
  readonly indexes: TableSize['indexes'] | undefined;
  readonly snapshot: SnapshotHolder | undefined;
}

/** What a status says that no section has to be read for. */
type StatusBasics = Pick<
  StatusReport,
  'table' | 'at' | 'serverVersion' | 'endedSince' | 'seesAllSessions' | 'notifyUsage'
>;

/**
 * What the sections tell together.
 *
 * @param takesAny true when workers that register nowhere may serve every topic
 */
export function statusOf(
  basics: StatusBasics,
  sections: StatusSections,
  takesAny: boolean,
): Omit<StatusReport, 'purgeable' | 'purgeMaxAgeDays' | 'unknown'> {
  const { places, pending, scheduled, next, running, workers, unheard = [], ended, size } = sections;
  const seen = {
    waiting: places?.waiting ?? [],
    counts: mergeCounts([pending, scheduled, running?.counts, ended]),
    workers: workers ?? [],
    paused: sections.paused ?? [],
  };
  return {
    ...basics,
    ...seen,
    buried: sections.buried ?? null,
    oldestPending: places?.oldest ?? null,
    unserved: takesAny || workers === undefined ? [] : findUnserved(seen, unheard),
    unheard: unheard.filter(({ active }) => active),
    lagMs: Math.max(0, places?.oldest?.waitingMs ?? 0, -(next?.inMs ?? 0)),
    nextScheduled: next ?? null,
    running: running?.tasks ?? [],
    runningTotal: running?.total ?? { count: 0, isCapped: false },
    size: size === undefined ? null : { ...size, indexes: sections.indexes ?? [] },
    oldestSnapshot: sections.snapshot ?? null,
  };
}
