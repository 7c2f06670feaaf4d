import { findKind } from '../workload/kinds.js';
import { violation, violationOf, type Oracle } from './oracle.js';

/** I5: attempts are numbered without gaps, each failure that is retried has one successor, one attempt lives. */
export const chainShape: Oracle = async (evidence) => [
  ...(await violationOf(
    evidence,
    'I5',
    'the attempts of a chain are not numbered 1 to n',
    `select root::text, array_agg(tentativa order by id) as attempts from every_row c
     group by root having min(tentativa) <> 1 or max(tentativa) <> count(*) or count(distinct tentativa) <> count(*)`,
  )),
  ...(await violationOf(
    evidence,
    'I5',
    'an attempt has not exactly the successors its outcome asks for',
    `select f.id::text, f.status, f.reenfileirado, f.estouro_tentativas, count(s.id)::int as successors
     from every_row f left join every_row s on s.id_anterior = f.id
     group by f.id, f.status, f.reenfileirado, f.estouro_tentativas
     having count(s.id) <> case when f.status = 'falha' and f.reenfileirado then 1 else 0 end
       or (f.status = 'falha' and f.reenfileirado = f.estouro_tentativas)`,
  )),
  ...(await violationOf(
    evidence,
    'I5',
    'a chain has more than one attempt that is not over',
    `select root::text, array_agg(status) as statuses from every_row c
     where status in ('pendente', 'agendada', 'processando') group by root having count(*) > 1`,
  )),
  ...(await violationOf(
    evidence,
    'I5',
    'a chain went on after it had succeeded',
    `select root::text, array_agg(status order by tentativa) as statuses from every_row c
     group by root having min(tentativa) filter (where status = 'sucesso') < max(tentativa)`,
  )),
];

/** I6: an exhausted chain has one dead chain, nothing else has one, and innocent tasks are never buried. */
export const deadOnce: Oracle = async (evidence) => {
  const buried = await evidence.db.query<{ key: string; losses: number; attempts: number }>(
    `select origem as key, max(perdas)::int as losses, max(tentativa)::int as attempts from every_row
     where estouro_tentativas and not dead group by origem`,
  );
  const innocent = buried.rows.filter(({ key }) => {
    const kind = evidence.history.attempted.get(key)?.kind;
    return kind !== undefined && findKind(kind).ends !== 'buried';
  });
  return [
    ...(await violationOf(
      evidence,
      'I6',
      'a chain has not exactly the dead chains its end asks for',
      `select c.root::text, bool_or(c.estouro_tentativas) as exhausted, count(d.id)::int as dead_chains
       from every_row c
       left join every_row d on d.dead and d.id_anterior is null and d.live_id = c.root and c.estouro_tentativas
       where not c.dead
       group by c.root having count(d.id) <> case when bool_or(c.estouro_tentativas) then 1 else 0 end`,
    )),
    ...(await violationOf(
      evidence,
      'I6',
      'a dead chain names no exhausted chain',
      `select d.id::text, d.live_id::text from every_row d
       where d.dead and not exists (
         select from every_row f where f.root = d.live_id and f.estouro_tentativas and not f.dead)`,
    )),
    ...violation('I6', 'an innocent task was buried', innocent),
  ];
};

const mostLosses = 5;

/** I7: attempts and losses are bounded, also for tasks that end their process every time. */
export const bounded: Oracle = async ({ db, history }) => {
  const { rows } = await db.query<{ key: string; dead: boolean; attempts: number; losses: number }>(
    `select origem as key, dead, max(tentativa)::int as attempts, max(perdas)::int as losses
     from every_row where tentativa > 1 group by origem, dead`,
  );
  const above = rows.filter(({ key, dead, attempts, losses }) => {
    const kind = history.attempted.get(key)?.kind;
    const most = kind === undefined || dead ? 60 : findKind(kind).maxAttempts;
    return attempts > most || losses >= mostLosses;
  });
  return violation('I7', 'a task had more attempts or losses than allowed', above);
};
