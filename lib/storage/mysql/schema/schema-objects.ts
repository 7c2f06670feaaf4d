import { hasTreated } from '../../buried.js';
import { cancelledBySql, isBuried, stateSql } from '../../columns.js';
import { mostLosses } from '../../failure-rule.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { longestScheduleId } from '../../schedules.js';
import { isInsertOfOurs } from '../statement.js';
import { now } from '../sql-time.js';
import {
  computedColumns,
  contractColumns,
  exactText,
  ownColumns,
  queueIndexes,
  subscriptionColumns,
  type ColumnDefinition,
} from './schema.js';

const storage = 'engine = InnoDB default character set utf8mb4 collate utf8mb4_bin row_format = dynamic';

/** The name of a trigger or a routine of a queue, without its database. */
export function ownName({ table }: QueueTables, suffix: string): string {
  return `${table}_${suffix}`;
}

function columnSql({ name, type, rest }: ColumnDefinition): string {
  return rest ? `${name} ${type} ${rest}` : `${name} ${type}`;
}

/** The queue table with all its indexes: adding one later would rebuild the table. */
export function queueTableSql({ queue }: QueueTables): string {
  const columns = [...contractColumns, ...ownColumns].map(columnSql);
  const computed = computedColumns.map(({ name, type, as }) => `${name} ${type} as (${as}) stored`);
  const indexes = queueIndexes.map(
    ({ name, unique, on }) => `${unique ? 'unique key' : 'key'} ${name} ${on}`,
  );
  return `create table if not exists ${queue} (\n  ${[...columns, ...computed, ...indexes].join(',\n  ')}\n) ${storage}`;
}

/** Counters beyond this were not written by the library. */
export const mostCounted = 1_000_000_000;

/**
 * The trigger that files rows as they are inserted. A producer may leave out or null any column with a default, insert a task for
 * later, or write into the columns that the library owns: such rows are corrected, as on PostgreSQL. What the library itself inserts
 * is right, and exempt.
 *
 * A new row has no claims and no lost workers, whatever its producer wrote. Programs that do not know the column for rounds
 * continue a replayed task in round 0, where its first attempts are already: the trigger takes the round of the previous
 * attempt, or of the chain that died.
 */
export function scheduleTriggerSql(tables: QueueTables): string {
  const { queue, quotedDatabase } = tables;
  const name = `${quotedDatabase}.${quoteIdentifier(ownName(tables, 'schedule'))}`;
  return `create trigger ${name} before insert on ${queue} for each row
begin
  set new.status = coalesce(new.status, 'pendente');
  set new.data_hora = coalesce(new.data_hora, ${now});
  set new.data_hora_inicial = coalesce(new.data_hora_inicial, new.data_hora);
  set new.tentativa = coalesce(new.tentativa, 1);
  set new.prioridade = coalesce(new.prioridade, 50);
  if new.status = 'pendente' and new.data_hora > ${now} then
    set new.status = 'agendada';
  end if;
  if not ${isInsertOfOurs(tables)} then
    set new.reserva = least(greatest(new.reserva, 0), ${mostCounted});
    set new.perdas = least(greatest(new.perdas, 0), ${mostCounted});
    set new.rodada = if(new.rodada between 0 and ${mostCounted}, new.rodada, 0);
    if new.status in ('pendente', 'agendada') then
      set new.reserva = 0, new.executor = null, new.iniciada_em = null, new.finalizada_em = null;
      set new.limite = null, new.prazo = null, new.consumidor = null, new.cancelada_por = null;
      set new.perdas = if(new.id_anterior is null, 0, least(new.perdas, ${mostLosses - 1}));
      if new.rodada = 0 and new.id_anterior is not null then
        set new.rodada = coalesce((select f.rodada from ${queue} f where f.id = new.id_anterior), 0);
      elseif new.rodada = 0 and new.dead and new.live_id is not null then
        set new.rodada = coalesce((
          select f.rodada from ${queue} f
          where (f.id = new.live_id or f.id_inicial = new.live_id) and f.estouro_tentativas
          order by f.id desc limit 1), 0);
      end if;
    end if;
  end if;
end`;
}

/** The subscriptions table and its two indexes. */
export function subscriptionsSql(subscriptions: string): string {
  const columns = subscriptionColumns.map(columnSql);
  const indexes = ['key sub_tenant (tenant, grupo_empresarial, processo)', 'key sub_topic (processo)'];
  return `create table if not exists ${subscriptions} (\n  ${[...columns, ...indexes].join(',\n  ')}\n) ${storage}`;
}

/** The queue's workers. Routes and schedules are arrays of JSON. */
export function workersTableSql({ workers }: QueueTables): string {
  return `create table if not exists ${workers} (
  id bigint not null auto_increment primary key,
  host varchar(255) not null,
  pid int not null,
  version varchar(100) not null,
  concurrency int not null,
  routes longtext not null,
  dead_routes longtext not null,
  schedules longtext,
  started_at datetime(6) not null default (${now}),
  stopped_at datetime(6),
  lease_until datetime(6),
  missed_at datetime(6),
  halt_at datetime(6),
  parent bigint,
  output text,
  key stopped (stopped_at)
) ${storage}`;
}

/** Paused routes. */
export function pausedTableSql({ paused }: QueueTables): string {
  return `create table if not exists ${paused} (
  route varbinary(1900) not null primary key,
  paused_at datetime(6) not null default (${now})
) ${storage}`;
}

/** What recurs. Rule and task are JSON, as the library writes them; `changed_at` says when somebody has changed one, and not that it moved. */
export function schedulesTableSql({ schedules }: QueueTables): string {
  return `create table if not exists ${schedules} (
  id ${exactText(longestScheduleId)} not null primary key,
  declared tinyint(1) not null,
  rule longtext not null,
  task longtext not null,
  next_at datetime(6),
  last_at datetime(6),
  missed bigint not null default 0,
  paused_at datetime(6),
  revision bigint not null default 1,
  changed_at datetime(6) not null default (${now}),
  key next (next_at)
) ${storage}`;
}

/** What ended in the past day, by minutes and routes, and how long it waited and ran. Samples are arrays of JSON. */
export function historyTableSql({ history }: QueueTables): string {
  return `create table if not exists ${history} (
  at datetime(6) not null,
  route varbinary(1900) not null,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  buried bigint not null default 0,
  delivered bigint not null default 0,
  unhandled bigint not null default 0,
  waits longtext not null,
  runs longtext not null,
  lag_ms bigint,
  primary key (at, route)
) ${storage}`;
}

/** The state of subscriptions' endpoints; a row appears with the first change. Secrets are an array of JSON. */
export function webhooksTableSql({ webhooks }: QueueTables): string {
  return `create table if not exists ${webhooks} (
  subscriber_id ${exactText(100)} not null primary key,
  secrets longtext not null,
  failures int not null default 0,
  failing_since datetime(6),
  last_success_at datetime(6),
  open_until datetime(6),
  probing_until datetime(6),
  deactivated_at datetime(6),
  deactivated_for longtext
) ${storage}`;
}

/**
 * What is held by a name where the server has no locks: routines by a lease, and the marks of handlers' transactions, which nobody
 * sees but these themselves.
 */
export function locksTableSql({ locks }: QueueTables): string {
  return `create table if not exists ${locks} (
  name ${exactText(200)} not null primary key,
  holder ${exactText(36)},
  held_until datetime(6)
) ${storage}`;
}

/** The key that fan-out seals deliveries with. One row, which never changes. */
export function sealTableSql({ seal }: QueueTables): string {
  return `create table if not exists ${seal} (
  single tinyint(1) not null primary key default 1 check (single = 1),
  inner_key varbinary(64) not null,
  outer_key varbinary(64) not null
) ${storage}`;
}

/**
 * Values of the key's row: as HMAC-SHA256 uses a key of 64 bytes, combined with its two constants beforehand, so that a seal is
 * two calls of `sha2()`.
 */
export function sealKeys(key: Buffer): readonly [inner: Buffer, outer: Buffer] {
  const padded = (constant: number): Buffer => Buffer.from(key.map((byte) => byte ^ constant));
  return [padded(0x36), padded(0x5c)];
}

/** Which version each queue's tables have, shared by the queues of a database. */
export function migrationsTableSql({ migrations }: QueueTables): string {
  return `create table if not exists ${migrations} (
  table_name ${exactText(200)} not null primary key,
  version int not null,
  identity char(36) not null,
  applied_at datetime(6) not null default (${now})
) ${storage}`;
}

/** One row per logical task, with English names. */
export function viewSql({ view, queue }: QueueTables): string {
  return `create or replace sql security invoker view ${view} as
select
  coalesce(f.id_inicial, f.id) as task_id,
  f.id as attempt_id,
  ${stateSql('f')} as status,
  f.tentativa as attempts,
  f.processo as topic,
  f.origem as origin,
  f.destino as destination,
  f.chave_externa as external_key,
  f.tenant,
  f.grupo_empresarial as tenant_group,
  f.prioridade as priority,
  f.data_hora_inicial as first_due_at,
  f.data_hora as due_at,
  f.iniciada_em as started_at,
  f.finalizada_em as finished_at,
  f.mensagem as message,
  f.resultado as result,
  f.pub_sub as is_publication,
  f.publication_id,
  f.subscriber_id as subscription_id,
  f.dead as is_dead,
  f.live_id as live_task_id,
  f.executor as worker_id,
  f.rodada as replay,
  f.metadados as metadata,
  ${cancelledBySql('f')} as cancelled_by,
  coalesce(${isBuried('f')}, false) as is_buried,
  case when f.dead then coalesce(${hasTreated('f')}, false) end as is_treated
from ${queue} f
where not coalesce(f.reenfileirado, 0)`;
}
