import type { Outcome, Scenario, Size } from '../scenario.js';
import type { Stage } from '../stage.js';
import { historyStatements } from '../tarefa/history.js';
import { oursOnly } from './ours-only.js';
import { drain } from './working.js';

const historyRows = 20_000;

/** What old partitions cost those that work: every claim looks into each of them. */
export const partitions: readonly Scenario[] = [partitioned(1), partitioned(10), partitioned(60)];

function partitioned(count: number): Scenario {
  return {
    name: `partitions: ${count}`,
    about:
      `A backlog beside a history of ${(count * historyRows).toLocaleString('en')} rows: in ${count} old partition${count === 1 ? '' : 's'}, ` +
      'or in the one table of a plain queue.',
    peers: [
      'tarefa, tuned',
      'tarefa, partitioned',
      'tarefa, concurrency 100',
      'tarefa, partitioned concurrency 100',
    ],
    skips: oursOnly('it has no partitions'),
    columns: ['perSecond', 'workerCpuPer10k', 'postgresCpuPer10k', 'peakRssMb', 'otherCores'],
    run: (stage, size) => drainBeside(stage, count, size),
  };
}

async function drainBeside(stage: Stage, count: number, size: Size): Promise<Outcome> {
  if (stage.peer.setting.startsWith('partitioned')) {
    for (let index = 1; index <= count; index += 1) {
      await stage.sql(
        `create table bench.task_h${index} partition of bench.task
         for values from (${-index * historyRows}) to (${(1 - index) * historyRows}) with (fillfactor = 85)`,
      );
    }
  }
  // Ids below those that tasks get.
  for (const statement of historyStatements(count * historyRows, -count * historyRows - 1)) {
    await stage.sql(statement);
  }
  return drain(stage, { tasks: size === 'full' ? 100_000 : 20_000, limitSeconds: 60 });
}
