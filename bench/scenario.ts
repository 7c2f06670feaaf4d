import type { Product } from './peers.js';
import type { Stage } from './stage.js';

/** Figures of one run by name; `figureTitles` says what each is. */
export type Figures = Partial<Record<FigureName, number>>;

/** What figures are called in tables. */
export const figureTitles = {
  perSecond: 'per second',
  tasks: 'tasks',
  seconds: 'seconds',
  purgedPerSecond: 'purged per second',
  perSecondBefore: 'per second before',
  medianMsBefore: 'median ms before',
  p99MsBefore: 'p99 ms before',
  medianMs: 'median ms',
  p95Ms: 'p95 ms',
  p99Ms: 'p99 ms',
  maxMs: 'max ms',
  firstWindow: 'first 10 s, per second',
  lastWindow: 'last 10 s, per second',
  firstFifth: 'first fifth, per second',
  lastFifth: 'last fifth, per second',
  ratio: 'last / first',
  deadlocks: 'deadlocks',
  workerCpuPer10k: 'worker CPU s per 10,000',
  postgresCpuPer10k: 'PostgreSQL CPU s per 10,000',
  redisCpuPer10k: 'Redis CPU s per 10,000',
  walBytesPerTask: 'WAL bytes per task',
  commitsPerTask: 'commits per task',
  loopP99Ms: 'loop delay p99 ms',
  loopMaxMs: 'loop delay max ms',
  httpMedianMs: 'HTTP median ms',
  httpP99Ms: 'HTTP p99 ms',
  httpMaxMs: 'HTTP max ms',
  peakRssMb: 'worker peak RSS MB',
  rssMb: 'worker RSS MB',
  childMb: 'MB of each thread or process',
  producerRssMb: 'producer RSS MB',
  producerPeakRssMb: 'producer peak RSS MB',
  startMs: 'ms from the start of the process',
  initMs: 'ms from the start of the queue',
  importMs: 'import ms',
  importCpuMs: 'import CPU ms',
  overviewMs: 'overview',
  dayMs: 'charts of a day',
  newestMs: 'newest tasks',
  failedMs: 'failed ones',
  pendingMs: 'waiting ones',
  topicMs: 'of a rare topic',
  messageMs: 'by text',
  taskMs: 'a task',
  subscriptionsMs: 'subscriptions',
  slowestMs: 'slowest answer',
  statementsPerMinute: 'statements a minute',
  workerCpuMsPerMinute: 'worker CPU ms a minute',
  otherCores: 'cores used by others',
} as const;

export type FigureName = keyof typeof figureTitles;

/** What one run came to. */
export interface Outcome {
  readonly figures: Figures;
  /** Tasks per second in consecutive windows, where the scenario watches the course of things. */
  readonly series?: readonly number[];
  /** Why the run was ended before it was done: its figures are of what was done by then. */
  readonly cut?: string;
}

/** How large a run is. */
export type Size = 'full' | 'quick';

/** One thing that is measured, for every peer that can do it, on what a run happens on. */
export interface Scenario<On = Stage> {
  /** `drain: defaults` */
  readonly name: string;
  /** What is done and what is measured, in a sentence or two. */
  readonly about: string;
  /** Names of the peers that run it. */
  readonly peers: readonly string[];
  /** Why the others do not. */
  readonly skips?: Partial<Record<Product, string>>;
  /** Figures of its table, the first of them charted. */
  readonly columns: readonly FigureName[];
  /** Whether less is better in the first column. */
  readonly lessIsBetter?: true;
  /** Part of a quick run: true, or the peers that run it then. */
  readonly quick?: true | readonly string[];
  /** Tasks are spread over so many topics. Default 1. */
  readonly topics?: number;
  /** Length of every payload as JSON. Default: about 60 bytes. */
  readonly payloadBytes?: number;
  run(stage: On, size: Size): Promise<Outcome>;
}
