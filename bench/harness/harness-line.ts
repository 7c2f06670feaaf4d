import type { EnvironmentLine } from '../result-line.js';
import type { Cell, PhaseType } from './runner/cells.js';
import type { System } from './systems.js';

/** Medians of one phase over its samples; the replicas' rates are added up. */
export interface PhaseFigures {
  readonly label: string;
  readonly type: PhaseType;
  readonly seconds: number;
  readonly samples: number;
  readonly completionRate?: number;
  readonly enqueueRate?: number;
  readonly claimP99Ms?: number;
  readonly depth?: number;
}

/** One scenario by one system. */
export interface CellLine {
  readonly type: 'cell';
  readonly system: System;
  readonly version: string;
  readonly cell: string;
  readonly suite: Cell['suite'];
  readonly phases: readonly PhaseFigures[];
  /** As the harness estimates it: what the rates say was inserted since the stress began and not completed. */
  readonly jobsLost?: number;
  /** From the last sample of the stress to the first one at 90 % of the baseline. */
  readonly recoverySeconds?: number;
  /** Jobs in the database that were not done when nothing had been inserted for a while. */
  readonly left?: number;
  /** Until they were all done. */
  readonly drainSeconds?: number;
  /** From SIGTERM to the end of the last replica, and whether they ended by themselves without an error. */
  readonly stop?: { readonly tookMs: number; readonly isClean: boolean };
  /** The error that ended it before its last phase. */
  readonly failed?: string;
}

export type HarnessLine = EnvironmentLine | CellLine;
