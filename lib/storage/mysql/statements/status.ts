import { isChainTreated } from '../../buried.js';
import { isBuried, stateSql } from '../../columns.js';
import { listLimit } from '../../read-status.js';
import { buriedLimit, countLimit, endedLimit, newestLimit } from '../../reports.js';
import { idList } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { msBetween, now } from '../sql-time.js';
import { named, sessions } from '../statement.js';
import { isLeased } from './workers.js';

// The state of a queue. Each statement costs about the same for any size of the table: it walks an index and stops at a limit.

type Queue = Pick<QueueTables, 'queue'>;

/** The database's clock. */
export const statusBasics = named('status_basics', `select ${now} as at, version() as server_version`);

/** The order of the index that claims walk. */
const placeOrder = 'f.rota_pronta, f.prioridade desc, f.data_hora, f.id';

/**
 * The pending attempt of each of some places that is due for longest, in no order. Parameters of each place: route, priority.
 */
export const firstOfPlaces = ({ queue }: Queue, places: number): string => {
  const one = `(
  select f.rota_pronta as route, f.prioridade as priority, f.id, coalesce(f.id_inicial, f.id) as first_id, f.data_hora as due,
    f.processo, f.subscriber_id, f.dead, ${msBetween('f.data_hora', now)} as waiting_ms
  from ${queue} f force index (ready)
  where f.rota_pronta = ? and f.prioridade = ?
  order by ${placeOrder}
  limit 1)`;
  return named('status_pending_places', Array(places).fill(one).join('\nunion all\n'));
};

/**
 * How many are pending at each of some places, by topic and subscription, and the number of the place; counts the oldest rows of a
 * place up to a limit. Parameters of each place: its number, route, priority, the limit.
 */
export const pendingCounts = ({ queue }: Queue, places: number): string => {
  const one = `(
  select ? as place, one.processo, one.subscriber_id, one.dead, count(*) as n, min(one.data_hora) as due
  from (
    select f.processo, f.subscriber_id, f.dead, f.data_hora from ${queue} f force index (ready)
    where f.rota_pronta = ? and f.prioridade = ?
    order by ${placeOrder}
    limit ?
  ) one
  group by one.processo, one.subscriber_id, one.dead)`;
  return named('status_pending_counts', Array(places).fill(one).join('\nunion all\n'));
};

/** Scheduled attempts by topic and subscription, first attempts apart from retries: the first due ones, up to a limit. */
export const scheduledCounts = ({ queue }: Queue): string =>
  named(
    'status_scheduled',
    `
select one.processo, one.subscriber_id, one.dead, one.state, count(*) as n, min(one.data_hora) as due
from (
  select f.processo, f.subscriber_id, f.dead, f.data_hora, ${stateSql('f')} as state
  from ${queue} f force index (scheduled)
  where f.agendada_em is not null
  order by f.agendada_em, f.id
  limit ${countLimit}
) one
group by one.processo, one.subscriber_id, one.dead, one.state`,
  );

/** The scheduled attempts that are due next; their times are past while no worker makes them pending. Parameters: how many. */
export const nextScheduled = ({ queue }: Queue): string =>
  named(
    'status_next_scheduled',
    `
select f.id, coalesce(f.id_inicial, f.id) as first_id, f.processo, f.subscriber_id, f.dead, f.data_hora as due,
  ${msBetween(now, 'f.data_hora')} as in_ms
from ${queue} f force index (scheduled)
where f.agendada_em is not null
order by f.agendada_em, f.id
limit ?`,
  );

/** Running attempts, and which worker holds them. Those of other programs have no executor. */
export const runningAttempts = ({ queue, workers }: Pick<QueueTables, 'queue' | 'workers'>): string =>
  named(
    'status_running',
    `
select running.*, w.host, w.pid, ${msBetween('running.started', now)} as running_ms
from (
  select f.id, coalesce(f.id_inicial, f.id) as first_id, f.processo, f.subscriber_id, f.dead, f.tentativa, f.executor,
    coalesce(f.iniciada_em, f.data_hora) as started
  from ${queue} f force index (running)
  where f.executor_ativo is not null
  limit ${countLimit}
) running
left join ${workers} w on w.id = running.executor
order by running.started, running.id`,
  );

/** Attempts that have ended and were due since a time; stops at a limit of rows. Parameters: since. */
export const endedCounts = ({ queue }: Queue): string =>
  named(
    'status_ended',
    `
select one.processo, one.subscriber_id, one.dead, one.state, count(*) as n
from (
  select f.processo, f.subscriber_id, f.dead, ${stateSql('f')} as state
  from ${queue} f
  where f.data_hora >= ? and f.status in ('sucesso', 'falha', 'falha_processando') and f.reenfileirado is not true
  limit ${endedLimit}
) one
group by one.processo, one.subscriber_id, one.dead, one.state`,
  );

/**
 * The latest dead tasks: how many there are, how many of the tasks that they are of have given up and stand so, and how many of
 * these a dead handler has dealt with. And how many of the newest attempts are of tasks that gave up and have no dead task.
 */
export const buriedCounts = ({ queue }: Queue): string =>
  named(
    'status_buried',
    `
select count(*) as n, sum(one.buried) as buried, sum(one.buried and one.treated) as treated,
  (
    select count(*) from ${queue} f force index (primary)
    left join ${queue} a force index (dead) on a.morte = coalesce(f.id_inicial, f.id) and a.rodada = f.rodada
    where f.id > (select max(m.id) - ${newestLimit} from ${queue} m) and ${isBuried('f')} and a.id is null
  ) as alone
from (
  select ${isChainTreated('d', queue)} as treated,
    (
      select f.id from ${queue} f force index (primary) where f.id = d.morte and f.rodada = d.rodada and ${isBuried('f')}
    ) is not null or (
      select f.id from ${queue} f force index (attempts)
      where f.id_inicial = d.morte and f.rodada = d.rodada and ${isBuried('f')} limit 1
    ) is not null as buried
  from (
    select d.id, d.morte, d.rodada, d.status, d.mensagem from ${queue} d force index (dead)
    where d.morte is not null
    order by d.morte desc, d.rodada desc
    limit ${buriedLimit}
  ) d
) one`,
  );

/**
 * Workers that have not stopped, and what says that each lives: a lock of its session, a lease, or nothing. Parameters:
 * what the names of the locks begin with.
 */
export const livingWorkers = ({ workers }: Pick<QueueTables, 'workers'>): string =>
  named(
    'status_workers',
    `
select w.id, w.host, w.pid, w.version, w.concurrency, w.routes, w.started_at, w.missed_at, w.parent, w.output,
  is_used_lock(concat(?, w.id)) is not null as has_lock, ${isLeased('w')} as has_lease
from ${workers} w
where w.stopped_at is null
order by w.id
limit ${listLimit}`,
  );

/**
 * Subscriptions without a URL that are not among the routes that workers serve; active ones first. Parameters: these
 * routes as JSON.
 */
export const unheardSubscriptions = ({ subscriptions }: Pick<QueueTables, 'subscriptions'>): string =>
  named(
    'status_subscriptions',
    `
select s.id, s.processo, s.ativo
from ${subscriptions ?? 'none'} s
where s.url is null and not exists (
  select 1 from json_table(?, '$[*]' columns (route varchar(1000) character set utf8mb4 path '$')) j
  where j.route = concat('s:', s.id)
)
order by s.ativo desc, s.id
limit ${listLimit}`,
  );

/** Topics and subscriptions of rows, and when the oldest was due. Parameters: ids. */
export const describeRows = ({ queue }: Queue): string =>
  named(
    'describe_rows',
    `
select f.processo, f.subscriber_id, count(*) as n, min(f.data_hora) as oldest
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
group by f.processo, f.subscriber_id`,
  );

/** Bytes, and rows as the statistics have them. Parameters: database, table. */
export const tableSize = named(
  'status_table',
  `
select t.data_length as table_bytes, t.index_length as index_bytes, t.table_rows as live_rows, 0 as dead_rows, 0 as partitions
from information_schema.tables t
where t.table_schema = ? and t.table_name = ?`,
);

/** Bytes of each index, as the statistics have them. Parameters: database, table. */
export const indexSizes = named(
  'status_indexes',
  `
select i.index_name as name, 1 as valid, i.stat_value * @@innodb_page_size as bytes
from mysql.innodb_index_stats i
where i.database_name = ? and i.table_name = ? and i.stat_name = 'size'
order by bytes desc, name`,
);

/** In the zone of the server's machine, whatever that of a session is. */
const startedAt = `convert_tz(t.trx_started, 'SYSTEM', '+00:00')`;

/**
 * Whose transaction has been open for longest: it keeps deleted rows from being removed. No query text: it may hold values of the
 * user's.
 */
export const oldestSnapshot = named(
  'status_oldest_snapshot',
  `
select 'session' as kind, t.trx_mysql_thread_id as pid, null as name, null as application_name, p.user as user_name,
  case when p.command = 'Sleep' then 'idle in transaction' else 'active' end as state,
  ${startedAt} as since,
  (select m.count from information_schema.innodb_metrics m where m.name = 'trx_rseg_history_len') as transactions,
  ${msBetween(startedAt, now)} as since_ms
from information_schema.innodb_trx t
left join ${sessions} p on p.id = t.trx_mysql_thread_id
where t.trx_mysql_thread_id <> connection_id() and t.trx_mysql_thread_id > 0
order by t.trx_started
limit 1`,
);
