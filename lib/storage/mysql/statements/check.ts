import { isBuried } from '../../columns.js';
import { mostNamed } from '../../inconsistencies.js';
import type { QueueTables } from '../identifiers.js';
import { after } from '../sql-time.js';
import { named } from '../statement.js';

/** Joins and condition of a failed attempt `f` that was retried, by a worker or an operator, and that none follows. */
export const lacksNextAttempt = (queue: string, condition = 'true'): string => `
  left join ${queue} n force index (successor) on n.id_anterior = f.id
  where f.reenfileirado and f.status in ('falha', 'falha_processando') and ${condition} and n.id is null`;

/** Joins and condition of the last attempt `f` of a task that has no dead task, though this library has ended it for lack of attempts. */
export const lacksDeadTask = (queue: string, condition = 'true'): string => `
  left join ${queue} d force index (dead) on d.morte = coalesce(f.id_inicial, f.id) and d.rodada = f.rodada
  where ${isBuried('f')} and f.finalizada_em is not null and ${condition} and d.id is null`;

const isMeant = `(? is null or coalesce(f.finalizada_em, f.data_hora) >= ?) and f.id > cast(? as signed)`;

/** The id behind which the newest attempts are. Parameters: how many. */
export const beforeNewest = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named('before_newest', `select max(f.id) - ? as id from ${queue} f`);

/**
 * Rows that must not be there, by kind, with the first of them. A task that ran out of attempts by hand, without
 * `finalizada_em`, may have had no dead task. Operators have the same statements in docs/guides/operating.md. Parameters: for
 * each of three kinds since when what has ended is checked (null: always), twice, and the id behind which; then the days that
 * deliveries are kept.
 */
export const findInconsistencies = ({ queue, workers }: Pick<QueueTables, 'queue' | 'workers'>): string =>
  named(
    'check',
    `
select found.kind, count(*) as n, substring_index(group_concat(found.id order by found.id desc), ',', ${mostNamed}) as ids
from (
  select 'no-next-attempt' as kind, f.id
  from ${queue} f ${lacksNextAttempt(queue, isMeant)}
  union all
  select 'no-dead-task', f.id
  from ${queue} f ${lacksDeadTask(queue, isMeant)}
  union all
  select 'missing-deliveries', f.id
  from ${queue} f
  where f.pub_sub and not f.dead and f.status = 'sucesso' and f.mensagem like 'delivered to %' and ${isMeant}
    and f.data_hora > ${after('? * -86400000')}
    and (
      select count(*) from ${queue} d force index (deliveries)
      where d.publication_id = coalesce(f.id_inicial, f.id) and d.id_anterior is null and not d.dead
    ) < cast(substring_index(substring(f.mensagem, 14), ' ', 1) as unsigned)
  union all
  select 'no-worker', f.id
  from ${queue} f force index (running)
  left join ${workers} w on w.id = f.executor_ativo and w.stopped_at is null
  where f.executor_ativo is not null and w.id is null
) found
group by found.kind
order by min(found.id)`,
  );
