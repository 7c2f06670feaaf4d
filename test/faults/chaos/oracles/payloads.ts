import { violation, violationOf, type Oracle } from './oracle.js';

interface Purged {
  readonly unended: boolean;
  /** By the clock of the server, in ms. */
  readonly at: number;
}

/** I12: whatever still has to run finds its payload. Looked at again and again while a run goes on. */
export const payloadsResolve: Oracle = (evidence) =>
  violationOf(
    evidence,
    'I12',
    'an attempt that is not over has no payload',
    `select f.id::text, f.status, f.id_inicial::text from tasks f
     left join tasks first on first.id = f.id_inicial
     where f.status in ('pendente', 'agendada', 'processando') and coalesce(f.payload, first.payload) is null`,
  );

/**
 * I13: purge deletes what is over and old enough, and nothing else. How old it was is not known while the clock was set.
 */
export const purgedWhatMay =
  (maxAgeDays: number): Oracle =>
  async ({ db, history }) => {
    const { rows } = await db.query<Purged>(
      `select id::text, status, data_hora, deleted_at, unfinished,
         extract(epoch from deleted_at)::float8 * 1000 as at,
         unfinished or status not in ('sucesso', 'falha') as unended
       from gone
       where unfinished or status not in ('sucesso', 'falha')
         or data_hora > deleted_at - $1::float8 * interval '1 day'`,
      [maxAgeDays],
    );
    const isDoubtful = (at: number): boolean => history.clocks.some(({ from, to }) => from <= at && at <= to);
    return violation(
      'I13',
      'a row was deleted that is not over, or too young',
      rows.filter(({ unended, at }) => unended || !isDoubtful(at)),
    );
  };
