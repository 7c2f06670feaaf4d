import type { EndpointStore, FailingEndpoint } from '../storage/endpoints.js';
import type { ErrorKind } from '../storage/error-kind.js';
import type { History } from '../storage/history.js';
import type { Inconsistency } from '../storage/inconsistencies.js';
import { newestLimit, type QueueReports, type StatusRequest } from '../storage/reports.js';
import type { StatusReport, UnknownSection, WorkerStall } from '../storage/status-report.js';
import { kept } from '../timing/kept.js';
import { findProblems, type QueueProblem } from './problems.js';

/** How a queue stands, and what of it needs attention. */
export interface QueueStatus extends StatusReport {
  /** The most urgent first. */
  readonly problems: readonly QueueProblem[];
}

/** How to look at a queue. */
export interface StatusOptions {
  /** What has ended is counted when it was due since then. Default: an hour ago. */
  readonly since?: Date | undefined;
  /** False leaves out the history that can be purged, whose count reads more than all the rest. Default true. */
  readonly purgeable?: boolean | undefined;
}

/** What of a queue's database tells of it. */
interface StatusSource {
  readonly reports: Pick<QueueReports, 'status' | 'history' | 'check'>;
  readonly endpoints: Pick<EndpointStore, 'failing'>;
  classify(error: unknown): ErrorKind;
}

/** Endpoints that are told of. */
const mostEndpoints = 20;
/** The history changes four times a minute; rows that must not be there stay until somebody deals with them. */
const keptMs = 10_000;
/** How long the look for such rows may take. */
const checkMs = 2_000;

/** Reads how a queue stands: what `QueueAdmin.status()`, `tarefa status` and the dashboard show. */
export class StatusReader {
  readonly #database: StatusSource;
  readonly #purgeMaxAgeDays: number;
  /** Why the worker of this process takes nothing: it knows best. */
  readonly #stalled: () => WorkerStall | undefined;
  readonly #history: () => Promise<History>;
  readonly #inconsistencies: () => Promise<readonly Inconsistency[]>;

  constructor(database: StatusSource, purgeMaxAgeDays: number, stalled: () => WorkerStall | undefined) {
    this.#database = database;
    this.#purgeMaxAgeDays = purgeMaxAgeDays;
    this.#stalled = stalled;
    const check = { since: undefined, newest: newestLimit, purgeMaxAgeDays, timeoutMs: checkMs };
    this.#history = kept(keptMs, () => database.reports.history({ range: 'hour' }));
    this.#inconsistencies = kept(keptMs, () => database.reports.check(check));
  }

  async read(request: Omit<StatusRequest, 'purgeMaxAgeDays'> = {}): Promise<QueueStatus> {
    const status = await this.#database.reports.status({
      ...request,
      purgeMaxAgeDays: this.#purgeMaxAgeDays,
    });
    const unknown: UnknownSection[] = [];
    const history = await this.#part('history', unknown, this.#history);
    const inconsistencies = (await this.#part('inconsistencies', unknown, this.#inconsistencies)) ?? [];
    const endpoints = await this.#part('endpoints', unknown, () => this.#endpoints());
    const report = { ...status, unknown: [...status.unknown, ...unknown] };
    return {
      ...report,
      problems: findProblems({
        report,
        history,
        endpoints: endpoints ?? [],
        inconsistencies,
        stalled: this.#stalled(),
      }),
    };
  }

  /** What cannot be read is named and left out, as it is in the report itself. */
  async #part<T>(section: string, unknown: UnknownSection[], read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const kind = this.#database.classify(error);
      // Then nothing else can be read either.
      if (kind === 'connection') throw error;
      const reason =
        kind === 'timeout' ? 'it took too long' : String((error as { message?: unknown }).message);
      unknown.push({ section, reason });
      return undefined;
    }
  }

  /** Empty too where this role may not see them. */
  async #endpoints(): Promise<readonly FailingEndpoint[]> {
    return (await this.#database.endpoints.failing(mostEndpoints)) ?? [];
  }
}
