/**
 * What the public harness published for its eight systems: hardbyte/postgresql-job-queue-benchmarking, sweep of
 * 2026-05-09, `results/2026-05-09-full-sweep/SUMMARY.md` and the README's table of scores, PostgreSQL 18.3, 4 cores.
 */
export interface PublishedSystem {
  readonly name: string;
  readonly contract: string;
  /** Completions per second after the stress by those before, in percent; undefined where the worker ended. */
  readonly chaos: Readonly<Record<string, number | undefined>>;
  /** Completions per second under the stress by those before, in percent; undefined where it did not end in time. */
  readonly pressure: Readonly<Record<string, number | undefined>>;
  readonly chaosPassed: number;
  readonly pressurePassed: number;
}

const chaosCells = [
  'postgres_restart',
  'pg_backend_kill',
  'pool_exhaustion',
  'crash_recovery',
  'repeated_kills',
];
const pressureCells = ['idle_in_tx', 'sustained_high_load', 'active_readers', 'event_burst'];

type Percent = number | undefined;
const ended = undefined;

/** In the order of the published table of scores. */
export const published: readonly PublishedSystem[] = [
  system('awa', 'job queue', [100, 100, 100, 98, 99], [75, 73, 71, 80]),
  system('pgque', 'event bus', [100, 100, 100, 98, 72], [100, 100, 100, 100]),
  system('river', 'job queue', [101, 101, 100, 121, 109], [ended, 140, 100, ended]),
  system('oban', 'job queue', [0, 100, 86, 98, 88], [96, 102, 98, 100]),
  system('pg-boss 12.18', 'job queue', [ended, ended, 96, 117, 99], [ended, 136, 101, ended]),
  system('absurd', 'job queue', [0, 0, 87, 103, 112], [ended, 71, 74, ended]),
  system('procrastinate', 'job queue', [0, 0, 99, 73, 18], [ended, 94, 63, ended]),
  system('pgmq', 'visibility timeout', [0, 0, 100, 74, 26], [ended, 150, 39, ended]),
];

function system(
  name: string,
  contract: string,
  chaos: readonly Percent[],
  pressure: readonly Percent[],
): PublishedSystem {
  const named = (cells: readonly string[], values: readonly Percent[]): Record<string, Percent> =>
    Object.fromEntries(cells.map((cell, index) => [cell, values[index]]));
  return {
    name,
    contract,
    chaos: named(chaosCells, chaos),
    pressure: named(pressureCells, pressure),
    chaosPassed: chaos.filter((percent) => percent !== undefined && percent > 0).length,
    pressurePassed: pressure.filter((percent) => percent !== undefined).length,
  };
}
