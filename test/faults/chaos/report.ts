import type { History } from './history.js';
import type { ChaosOptions } from './options.js';
import type { Evidence, Violation } from './oracles/oracle.js';
import type { Strike } from './schedule.js';

/** What became of the tasks of one kind. */
export interface KindCount {
  attempted: number;
  acked: number;
  refused: number;
  unknown: number;
}

/** How often a fault was made, met something, and could not be made. */
export interface FaultCount {
  readonly struck: number;
  readonly hit: number;
  readonly failed: number;
  /** Why it could not be made the last time. */
  readonly why?: string;
}

/** A run in numbers: printed, and written as JSON. */
export interface ChaosReport {
  readonly seed: number;
  readonly options: ChaosOptions;
  readonly seconds: number;
  readonly drainSeconds: number;
  readonly tasks: Readonly<Record<string, KindCount>>;
  readonly rows: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly doubled: number;
  readonly stuck: number;
  /** From a worker's death with rows in flight to the start of the last of their successors. */
  readonly recovery: { readonly deaths: number; readonly medianMs: number; readonly worstMs: number };
  readonly faults: Readonly<Record<string, FaultCount>>;
  readonly neverHit: readonly string[];
  readonly violations: readonly Violation[];
  readonly schedule: readonly Strike[];
}

export function countTasks({ attempted, acked, refused, unknown }: History): Record<string, KindCount> {
  const counts: Record<string, KindCount> = {};
  for (const { key, kind } of attempted.values()) {
    const count = (counts[kind] ??= { attempted: 0, acked: 0, refused: 0, unknown: 0 });
    count.attempted += 1;
    if (acked.has(key)) count.acked += 1;
    if (refused.has(key)) count.refused += 1;
    if (unknown.has(key)) count.unknown += 1;
  }
  return counts;
}

/** Rows by how they ended, with the purged ones. */
export async function countRows({ db }: Evidence): Promise<Record<string, number>> {
  const { rows } = await db.query<{ what: string; n: number }>(
    `select status || case when dead then ', dead' else '' end || case when publication_id is not null then ', delivery' else '' end
       || case when mensagem like '%was lost%' then ', worker lost' else '' end || case when gone then ', purged' else '' end as what,
       count(*)::int as n
     from every_row group by 1 order by 2 desc`,
  );
  return Object.fromEntries(rows.map(({ what, n }) => [what, n]));
}

/** How long it took until what a dead worker held was at work again. */
export async function measureRecovery({ db, history }: Evidence): Promise<ChaosReport['recovery']> {
  const took: number[] = [];
  for (const { ids, wall } of history.deaths) {
    // A claim whose answer was never seen is given back, and then has no successor.
    const { rows } = await db.query<{ last: number | null }>(
      `select extract(epoch from max(started.at))::float8 * 1000 as last
       from every_row s
       cross join lateral (select min(a.at) as at from audit a where a.id = s.id and a.new_status = 'processando') started
       where s.id_anterior = any($1::bigint[])`,
      [ids],
    );
    const last = rows[0]?.last;
    if (last !== null && last !== undefined) took.push(last - wall);
  }
  took.sort((a, b) => a - b);
  return {
    deaths: took.length,
    medianMs: Math.round(took[Math.floor(took.length / 2)] ?? 0),
    worstMs: Math.round(took.at(-1) ?? 0),
  };
}

export function countFaults(kinds: readonly string[], strikes: readonly Strike[]): ChaosReport['faults'] {
  return Object.fromEntries(
    kinds.map((kind) => {
      const ofKind = strikes.filter((strike) => strike.kind === kind);
      const failed = ofKind.flatMap((strike) => strike.failed ?? []);
      const why = failed.at(-1);
      return [
        kind,
        {
          struck: ofKind.length,
          hit: ofKind.filter(({ hit }) => hit !== undefined).length,
          failed: failed.length,
          ...(why === undefined ? {} : { why }),
        },
      ];
    }),
  );
}

/** The report for people. */
export function describeReport(report: ChaosReport): string {
  const { seed, options, seconds, drainSeconds, recovery, violations } = report;
  const total = Object.values(report.tasks).reduce((sum, { acked }) => sum + acked, 0);
  const lines = [
    `Chaos run, seed ${seed}, ${options.database}, ${options.layout} table: ${seconds} s of faults on ${options.workers} workers, drained in ${drainSeconds} s`,
    '',
    `${'tasks'.padEnd(24)}${['attempted', 'acked', 'refused', 'unknown'].map((name) => name.padStart(11)).join('')}`,
    ...Object.entries(report.tasks).map(
      ([kind, { attempted, acked, refused, unknown }]) =>
        `  ${kind.padEnd(22)}${[attempted, acked, refused, unknown].map((n) => String(n).padStart(11)).join('')}`,
    ),
    '',
    ...Object.entries(report.rows).map(([what, n]) => `  ${String(n).padStart(8)} ${what}`),
    '',
    `${'faults'.padEnd(34)}${['struck', 'hit', 'failed'].map((name) => name.padStart(8)).join('')}`,
    ...Object.entries(report.faults).map(([kind, { struck, hit, failed, why = '' }]) =>
      `  ${kind.padEnd(32)}${[struck, hit, failed].map((n) => String(n).padStart(8)).join('')} ${why}`.trimEnd(),
    ),
    '',
    `recovery of ${recovery.deaths} dead workers: median ${recovery.medianMs} ms, worst ${recovery.worstMs} ms`,
    `acknowledged ${total}, lost ${report.lost}, doubled effects ${report.doubled}, stuck ${report.stuck}`,
    ...report.neverHit.map((kind) => `NOT HIT OFTEN ENOUGH: ${kind} (${options.hits} wanted)`),
    ...violations.map(
      ({ invariant, what, count, rows }) =>
        `VIOLATION of ${invariant}: ${what} (${count})\n${rows.map((row) => `    ${JSON.stringify(row)}`).join('\n')}`,
    ),
    violations.length + report.neverHit.length === 0 ? 'All invariants hold.' : `Repeat with --seed ${seed}`,
  ];
  return `${lines.join('\n')}\n`;
}
