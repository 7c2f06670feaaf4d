import type { TaskRecord } from '../task.js';
import type { EndedOnRoute, History, HistoryRequest, MeasuredAttempt } from './history.js';
import type { CheckRequest, Inconsistency } from './inconsistencies.js';
import type { NextTask, StatusReport, WorkerStatus } from './status-report.js';
import type { TaskSelection } from './task-selection.js';
import type { WaitingRoute } from './waiting-route.js';

/** How to look at a queue. */
export interface StatusRequest {
  /** What has ended is counted when it was due since then. Default: an hour ago, by this process's clock. */
  readonly since?: Date | undefined;
  /** How long each part of the report may take, in ms. Default 5000. */
  readonly timeoutMs?: number | undefined;
  /** Whether what has ended is counted. Default true. */
  readonly ended?: boolean | undefined;
  /** Whether history that can be purged is counted. Default true. */
  readonly purgeable?: boolean | undefined;
  /** History older than this can be purged. */
  readonly purgeMaxAgeDays: number;
}

/** Which page of a search. */
export interface SearchPage {
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Asked of what a search in payloads has found, each with its payload. Default: all of it. */
  readonly accept?: ((task: TaskRecord) => boolean) | undefined;
}

/** What was found so far: it may be less than asked for though there is more. */
export interface SearchResult {
  /** Without result, error and metadata, and without payload unless it was searched. */
  readonly tasks: readonly TaskRecord[];
  /** Ask on with it as `after`; undefined at the end. */
  readonly next: string | undefined;
  /** Which part of the table was looked at, counted in ids: 0 to 1. */
  readonly searched: number;
}

/** An attempt with its long texts cut, and their whole lengths in characters. */
export interface CutAttempt {
  readonly task: TaskRecord;
  readonly resultLength: number;
  readonly errorLength: number;
}

/** The last attempts of a task. */
export interface LastAttempts {
  /** The newest first. */
  readonly attempts: readonly CutAttempt[];
  /** How many it has in all. */
  readonly total: number;
}

/** A stored payload. */
export interface StoredPayload {
  /** Null when there is none, or when it is larger than asked for. */
  readonly text: string | null;
  readonly bytes: number;
  /** True for a delivery: the text is its envelope. */
  readonly isDelivery: boolean;
  /** False when some of its bytes are not text. */
  readonly isReadable: boolean;
}

/** Characters of a result or an error that {@link QueueReports.lastAttempts} reads at most. */
export const longestText = 20_000;
/** Counts of pending, scheduled and running tasks stop here. */
export const countLimit = 10_000;
/** Dead tasks that are looked at for what became of tasks that gave up. */
export const buriedLimit = 5_000;
/** Of the newest ids so many are looked at for what no index finds: rows that must not be there, and tasks without a dead task. */
export const newestLimit = 10_000;
/** The count of what has ended stops here. */
export const endedLimit = 200_000;

/** What people and charts look at. Reads only, and costs about the same whatever the size of the table, but for a check. */
export interface QueueReports {
  /** How the queue stands; parts that take too long, or that the role may not read, are named in `unknown`. */
  status(request: StatusRequest): Promise<StatusReport>;
  /** Workers that have not said that they stopped. */
  workers(): Promise<readonly WorkerStatus[]>;
  /** The next scheduled attempts, the earliest first. */
  nextScheduled(limit: number): Promise<readonly NextTask[]>;
  /** Routes whose attempts are due and wait, except paused ones, and whether a running worker serves each. */
  waitingRoutes(): Promise<readonly WaitingRoute[]>;
  /** One page of a search, the newest first. Rejects with `INPUT_INVALID` for an `after` that is not a page's `next`. */
  search(selection: TaskSelection, page: SearchPage): Promise<SearchResult>;
  /** The last attempts of a task, by the id of any of them. */
  lastAttempts(id: string, most: number): Promise<LastAttempts>;
  /** An attempt's payload, wherever in its chain it is stored; undefined when the attempt is not there. */
  payload(id: string, mostBytes: number): Promise<StoredPayload | undefined>;
  /** Rows that must not be there, by kind; empty when all is well. Reads the whole table, unless only its newest rows are meant. */
  check(request: CheckRequest): Promise<readonly Inconsistency[]>;
  /** What ended in the past hour or day. */
  history(request: HistoryRequest): Promise<History>;
  /** Durations of attempts that have ended, by id. */
  measure(ids: readonly string[]): Promise<ReadonlyMap<string, MeasuredAttempt>>;
  /** Adds to the history what ended in this process. */
  addHistory(ended: readonly EndedOnRoute[]): Promise<void>;
  /** Once a minute, in one process of all: notes how long tasks wait, condenses old minutes and forgets older ones. */
  condenseHistory(): Promise<void>;
}
