import type { Figures, Outcome, Scenario, Size } from '../scenario.js';
import type { Stage } from '../stage.js';
import { historyStatements } from '../tarefa/history.js';
import { oursOnly } from './ours-only.js';
import { drain } from './working.js';

/** What the dashboard costs the queue, and what it costs who looks. */
export const dashboards: readonly Scenario[] = [
  {
    name: 'dashboard: history',
    about:
      'A backlog of 800,000 tasks whose handler does nothing, while what ends is counted for the charts of the ' +
      'dashboard (the default), and while it is not.',
    peers: ['tarefa, tuned', 'tarefa, without history'],
    skips: oursOnly('it counts nothing for charts'),
    columns: ['perSecond', 'workerCpuPer10k', 'postgresCpuPer10k', 'otherCores'],
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 800_000 : 60_000, limitSeconds: 90 }),
  },
  {
    name: 'dashboard: views',
    about:
      'How long each view of the dashboard takes over HTTP, on a queue of 10,000,000 rows of history, with a day of ' +
      'charts of ten topics: the median of 15, in ms. A view that searches answers after 400 ms with what it has; ' +
      'the seconds are those of a search for a text that is nowhere, from the newest row to the oldest.',
    peers: ['tarefa'],
    skips: oursOnly('its dashboards were not measured'),
    columns: [
      'overviewMs',
      'dayMs',
      'newestMs',
      'failedMs',
      'pendingMs',
      'topicMs',
      'messageMs',
      'taskMs',
      'subscriptionsMs',
      'slowestMs',
      'seconds',
    ],
    lessIsBetter: true,
    run: look,
  },
];

async function look(stage: Stage, size: Size): Promise<Outcome> {
  const rows = size === 'full' ? 10_000_000 : 200_000;
  for (const statement of historyStatements(rows)) await stage.sql(statement);
  await stage.sql(
    // Minutes of the last hour, and ten of them together before.
    `insert into bench.task_history (at, route, succeeded, failed, waits, runs)
     select at, 't:t' || t, 500, 5, array_fill(25, array[20]), array_fill(25, array[20])
     from (
       select date_trunc('minute', now()) - m * interval '1 minute' as at from generate_series(0, 1500) m
     ) minutes, generate_series(0, 9) t
     where at > now() - interval '80 minutes' or extract(minute from at)::int % 10 = 0`,
  );
  await stage.sql(
    `insert into bench.task_subscriber (id, processo) select 's' || n, 't0' from generate_series(1, 100) n`,
  );
  await stage.desk.call('fill', 2_000);
  await stage.settle();
  const figures: Figures = await stage.desk.call('views');
  return { figures };
}
