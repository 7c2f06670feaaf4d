import { findKind } from '../workload/kinds.js';
import { recurring } from '../workload/recurring.js';
import { violation, type Oracle } from './oracle.js';

interface Found {
  readonly key: string;
  readonly roots: number;
  readonly succeeded: boolean;
  readonly buried: boolean;
  readonly unfinished: boolean;
}

/**
 * I1: every acknowledged task was carried out; nothing was that nobody asked for; an insert makes one task. Tasks
 * of which the producer does not know whether they exist may or may not.
 */
export const enqueued: Oracle = async ({ db, history }) => {
  const { rows } = await db.query<Found>(
    `select origem as key,
       count(*) filter (where id_anterior is null and not dead and publication_id is null)::int as roots,
       bool_or(status = 'sucesso' and not dead and publication_id is null) as succeeded,
       bool_or(estouro_tentativas and not dead and publication_id is null) as buried,
       bool_or(status in ('pendente', 'agendada', 'processando')) as unfinished
     from every_row where origem is distinct from $1 group by origem`,
    [recurring.key],
  );
  const found = new Map(rows.map((row) => [row.key, row]));
  const started = new Set(history.runs.map(({ key }) => key));
  const asked = [...history.attempted.values()];
  const exist = asked.filter(({ key }) => found.has(key));

  const lost = [...history.acked.keys()].filter((key) => !found.has(key));
  const notDone = exist.filter(({ key, kind }) => {
    const row = found.get(key);
    if (!row || row.unfinished) return true;
    const { ends } = findKind(kind);
    if (ends === 'buried' ? !row.buried || row.succeeded : !row.succeeded) return true;
    return kind !== 'publication' && !started.has(key);
  });
  return [
    ...violation(
      'I1',
      'an acknowledged task does not exist',
      lost.map((key) => ({ key })),
    ),
    ...violation(
      'I1',
      'a task was not carried out',
      notDone.map(({ key, kind }) => ({ kind, ...(found.get(key) ?? { key }) })),
    ),
    ...violation(
      'I1',
      'a task exists that nobody inserted',
      rows.filter(({ key }) => !history.attempted.has(key)),
    ),
    ...violation(
      'I1',
      'a task exists whose insert was rolled back',
      rows.filter(({ key }) => history.refused.has(key)),
    ),
    ...violation(
      'I1',
      'one insert made several tasks, or none but copies',
      rows.filter(({ roots }) => roots !== 1),
    ),
    ...violation(
      'I1',
      'a handler ran for a task that nobody inserted',
      history.runs.filter(({ key }) => key !== recurring.key && !history.attempted.has(key)),
    ),
  ];
};
