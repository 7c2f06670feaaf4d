import { occurrenceKey } from '../../../../lib/storage/schedules.js';
import { recurring } from '../workload/recurring.js';
import { violation, type Oracle } from './oracle.js';

interface Found {
  readonly time: number;
  readonly tasks: number;
  readonly succeeded: number;
}

/** I16: one occurrence is one task, which is carried out; there is none at another time. */
export const occurrencesOnce: Oracle = async ({ db, history }) => {
  // A copy from MariaDB has metadata as the text that it is there.
  const { rows } = await db.query<Found>(
    `select extract(epoch from ((first.metadados #>> '{}')::jsonb ->> $2)::timestamptz)::float8 * 1000 as time,
       count(*)::int as tasks,
       count(*) filter (
         where exists (select from every_row one where one.root = first.id and one.status = 'sucesso')
       )::int as succeeded
     from every_row first
     where first.origem = $1 and first.id_anterior is null and not first.dead
     group by 1 order by 1`,
    [recurring.key, occurrenceKey],
  );
  const expected = new Set(history.recurred.flatMap(({ from, to }) => timesBetween(from, to)));
  const found = new Set(rows.map(({ time }) => time));
  return [
    ...violation(
      'I16',
      'an occurrence made several tasks',
      rows.filter(({ tasks }) => tasks > 1),
    ),
    ...violation(
      'I16',
      'an occurrence made no task',
      [...expected].filter((time) => !found.has(time)).map((time) => ({ time })),
    ),
    ...violation(
      'I16',
      'a task was made for a time at which nothing recurs',
      rows.filter(({ time }) => !expected.has(time)),
    ),
    ...violation(
      'I16',
      'the task of an occurrence was not carried out',
      rows.filter(({ tasks, succeeded }) => succeeded < tasks),
    ),
  ];
};

function timesBetween(from: number, to: number): readonly number[] {
  const { everyMs } = recurring;
  return Array.from({ length: Math.ceil((to - from) / everyMs) }, (_, n) => from + n * everyMs);
}
