import type { Figures } from './scenario.js';

/** The first line of a file of results: where and with what it was run. */
export interface EnvironmentLine {
  readonly type: 'environment';
  readonly date: string;
  readonly commit: string | undefined;
  readonly size: 'full' | 'quick';
  readonly runs: number;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memoryGb: number;
    readonly system: string;
  };
  /** Commits of one row on one connection, one after another: what the disk and the round trip allow. */
  readonly commitsPerSecond: number;
  readonly node: Readonly<Record<'tarefa' | 'peers', string>>;
  readonly postgres: Readonly<Record<string, string>>;
  /** Where it was measured. */
  readonly mariadb?: Readonly<Record<string, string>>;
  /** Version, or why there is none. */
  readonly redis: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** One run of one scenario by one peer. */
export interface RunLine {
  readonly type: 'run';
  readonly scenario: string;
  readonly peer: string;
  /** From 1 on. */
  readonly run: number;
  readonly figures?: Figures;
  readonly series?: readonly number[];
  /** Why it was ended early; the figures are of what was done by then. */
  readonly cut?: string;
  /** Why there are no figures. */
  readonly skipped?: string;
  /** The error that ended it. */
  readonly failed?: string;
}

/** The last line: medians of the figures, by scenario and peer. */
export interface MediansLine {
  readonly type: 'medians';
  readonly medians: Readonly<Record<string, Readonly<Record<string, Figures>>>>;
}

export type ResultLine = EnvironmentLine | RunLine | MediansLine;
