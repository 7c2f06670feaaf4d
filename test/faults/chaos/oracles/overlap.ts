import type { Run } from '../history.js';
import { violation, type Oracle } from './oracle.js';

interface Row {
  readonly id: string;
  readonly status: string;
  readonly lost: boolean;
}

/** A worker that dies so soon after a handler of its own ended may not have been told: its statements had no answer. */
const dyingMs = 20_000;

/**
 * I4: no two workers at one task at once. A handler that goes on in a worker that was given up overlaps with its
 * successor; then the older attempt was failed as lost, and its worker was told so when it wanted to end it.
 */
export const oneWorkerAtOnce: Oracle = async ({ db, history }) => {
  const { rows } = await db.query<Row>(
    `select id::text, status, mensagem like '%was lost%' as lost from every_row where perdas > 0 or mensagem like '%was lost%'`,
  );
  const lost = new Set(rows.filter((row) => row.status === 'falha' && row.lost).map(({ id }) => id));
  const twice: object[] = [];
  const untold: object[] = [];
  for (const [root, runs] of byRoot(history.runs)) {
    let before: Run | undefined;
    for (const run of runs) {
      if (before?.attempt === run.attempt)
        twice.push({ root, attempt: run.attempt, pids: [before.pid, run.pid] });
      const until = before && (before.endedAt ?? history.exits.get(before.pid) ?? Infinity);
      if (before && until !== undefined && run.at < until) {
        const died = history.exits.get(before.pid) ?? Infinity;
        const wasTold = before.told || before.endedAt === undefined || died < before.endedAt + dyingMs;
        const isExcused = lost.has(before.id) && wasTold;
        if (!isExcused) untold.push({ root, older: before, newer: run });
      }
      before = run;
    }
  }
  return [
    ...violation('I4', 'an attempt was started twice', twice),
    ...violation(
      'I4',
      'two attempts of a task ran at once, and the older one was not told that it is lost',
      untold,
    ),
  ];
};

function byRoot(runs: readonly Run[]): ReadonlyMap<string, readonly Run[]> {
  const sorted = new Map<string, Run[]>();
  for (const run of runs) sorted.set(run.root, [...(sorted.get(run.root) ?? []), run]);
  for (const some of sorted.values()) some.sort((a, b) => a.at - b.at);
  return sorted;
}
