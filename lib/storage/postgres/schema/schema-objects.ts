import { hasTreated } from '../../buried.js';
import { cancelledBySql, isBuried, stateSql } from '../../columns.js';
import { quoteIdentifier, quoteLiteral, type QueueTables } from '../identifiers.js';
import {
  contractColumns,
  keyOrder,
  ownColumns,
  subscriptionColumns,
  type ColumnDefinition,
  type IndexDefinition,
} from './schema.js';
import { mostLosses } from '../../failure-rule.js';
import { longestScheduleId } from '../../schedules.js';
import { isInsertOfOthers, isQuiet, routeExpression } from '../statement.js';

/** The name of an index, a trigger or a function of a queue, without its schema. */
export function ownName({ table }: QueueTables, suffix: string): string {
  return `${table}_${suffix}`;
}

/** {@link ownName}, quoted for SQL. */
function named(tables: QueueTables, suffix: string): string {
  return quoteIdentifier(ownName(tables, suffix));
}

function inSchema(tables: QueueTables, suffix: string): string {
  return `${tables.quotedSchema}.${named(tables, suffix)}`;
}

/** A column as `create table` and `add column` take it. */
export function columnSql({ name, type, isKey, rest }: ColumnDefinition): string {
  return [name, type, ...(isKey ? [keyOrder] : []), ...(rest === undefined ? [] : [rest])].join(' ');
}

/** `alter table … add column if not exists …`. */
export function addColumnsSql(table: string, columns: readonly ColumnDefinition[]): string {
  return `alter table ${table}\n  ${columns.map((c) => `add column if not exists ${columnSql(c)}`).join(',\n  ')}`;
}

/** Leaves room in pages, so that an attempt's changes of state stay on its page. */
export const fillFactor = 85;

/** The queue table. */
export function queueTableSql({ queue }: QueueTables): string {
  const id = { name: 'id', type: 'bigserial', rest: 'primary key' };
  const columns = [id, ...contractColumns.slice(1), ...ownColumns].map(columnSql).join(',\n  ');
  return `create table if not exists ${queue} (\n  ${columns}\n) with (fillfactor = ${fillFactor})`;
}

/** One index of the queue table, made at once or `concurrently`, under its own name or another. */
export function indexSql(
  tables: QueueTables,
  { suffix, unique, on, where }: IndexDefinition,
  { concurrently = false, name = ownName(tables, suffix) } = {},
): string {
  const how = concurrently ? 'concurrently ' : '';
  const existing = concurrently ? '' : 'if not exists ';
  return `create ${unique ? 'unique ' : ''}index ${how}${existing}${quoteIdentifier(name)} on ${tables.queue} ${on}${where ? ` where ${where}` : ''}`;
}

// A producer may leave out or null any column with a default, insert a task for later, or write into the columns that the
// library owns: the trigger corrects such rows. The library's own inserts are right; whether it is one is asked last, because
// most rows need no correction.
const needsFiling = (
  queue: string,
): string => `(new.status = 'pendente' and new.data_hora > clock_timestamp())
    or num_nulls(new.status, new.data_hora, new.data_hora_inicial, new.tentativa, new.prioridade) > 0
    or ((new.reserva is distinct from 0 or new.perdas is distinct from 0 or new.rodada is distinct from 0
        or num_nonnulls(new.executor, new.id_anterior, new.live_id, new.iniciada_em, new.finalizada_em, new.prazo,
          new.limite, new.consumidor, new.cancelada_por) > 0)
      and ${isInsertOfOthers(queue)})`;

/** Counters beyond this were not written by the library. */
export const mostCounted = 1_000_000_000;

/**
 * The function that files rows as they are inserted.
 *
 * A new row has no claims and no lost workers, whatever its producer wrote. Programs that do not know the column for rounds
 * continue a replayed task in round 0, where its first attempts are already: the trigger takes the round of the previous
 * attempt, or of the chain that died.
 */
export function scheduleFunctionSql(tables: QueueTables): string {
  const { queue } = tables;
  return `create or replace function ${inSchema(tables, 'schedule')}() returns trigger language plpgsql as $$
begin
  new.status := coalesce(new.status, 'pendente');
  new.data_hora := coalesce(new.data_hora, clock_timestamp());
  new.data_hora_inicial := coalesce(new.data_hora_inicial, new.data_hora);
  new.tentativa := coalesce(new.tentativa, 1);
  new.prioridade := coalesce(new.prioridade, 50);
  if new.status = 'pendente' and new.data_hora > clock_timestamp() then
    new.status := 'agendada';
  end if;
  if not ${isInsertOfOthers(queue, 1)} then
    return new;
  end if;
  new.reserva := least(greatest(coalesce(new.reserva, 0), 0), ${mostCounted});
  new.perdas := least(greatest(coalesce(new.perdas, 0), 0), ${mostCounted});
  -- Whoever runs a task once more by hand gives it the next round.
  new.rodada := case when new.rodada between 0 and ${mostCounted} then new.rodada else 0 end;
  if new.status in ('pendente', 'agendada') then
    new.reserva := 0;
    new.executor := null;
    new.iniciada_em := null;
    new.finalizada_em := null;
    new.limite := null;
    new.prazo := null;
    new.consumidor := null;
    new.cancelada_por := null;
    -- A task that is started again goes on with those that it has lost.
    new.perdas := case when new.id_anterior is null then 0 else least(new.perdas, ${mostLosses - 1}) end;
    if new.rodada = 0 and new.id_anterior is not null then
      select f.rodada into new.rodada from ${queue} f where f.id = new.id_anterior;
    elsif new.rodada = 0 and new.dead and new.live_id is not null then
      select (array_agg(f.rodada order by f.id desc))[1] into new.rodada
      from ${queue} f
      where (f.id = new.live_id or f.id_inicial = new.live_id) and f.estouro_tentativas;
    end if;
    new.rodada := coalesce(new.rodada, 0);
  end if;
  return new;
end $$`;
}

/** Its trigger, in place of an existing one. */
export function scheduleTriggerSql(tables: QueueTables): readonly string[] {
  const { queue } = tables;
  return [
    `drop trigger if exists ${named(tables, 'schedule')} on ${queue}`,
    `create trigger ${named(tables, 'schedule')} before insert on ${queue} for each row when (${needsFiling(queue)})
  execute function ${inSchema(tables, 'schedule')}()`,
  ];
}

/**
 * The function that rings. A ring says the second in which the first of these tasks is due, their highest priority, and
 * whether some are for later; where all have one route, and none is dead, also which. Tasks due at `infinity` never are.
 * Whole seconds make equal rings of one transaction one. Only ASCII: what a listener cannot be sent would cut its session off.
 */
export function ringFunctionSql(tables: QueueTables): string {
  return `create or replace function ${inSchema(tables, 'ring')}() returns trigger language plpgsql as $$
declare
  due timestamptz;
  priority integer;
  later boolean;
  route text;
begin
  if ${isQuiet} then
    return null;
  end if;
  select min(data_hora), max(prioridade), bool_or(status = 'agendada'),
    case when min(lane) = max(lane) and not bool_or(dead) then min(lane) end
  into due, priority, later, route
  from (select *, ${routeExpression('')} as lane from inserted) one
  where status in ('pendente', 'agendada') and data_hora < 'infinity';
  if due is not null then
    perform pg_catalog.pg_notify(tg_argv[0],
      floor(extract(epoch from greatest(due, 'epoch')))::bigint || ' ' || priority
        || case when route !~ '[^\\x01-\\x7f]|^!' then ' ' || to_json(route) else '' end
        || case when later then ' later' else '' end);
  end if;
  return null;
end $$`;
}

/** Its trigger, in place of an existing one: the check does not find one that is disabled. */
export function ringTriggerSql(tables: QueueTables, channel: string): readonly string[] {
  const { queue } = tables;
  return [
    `drop trigger if exists ${named(tables, 'ring')} on ${queue}`,
    `create trigger ${named(tables, 'ring')} after insert on ${queue} referencing new table as inserted for each statement
  when (${isInsertOfOthers(queue)})
  execute function ${inSchema(tables, 'ring')}(${quoteLiteral(channel)})`,
  ];
}

/** The subscriptions table and its two indexes. */
export function subscriptionsSql(tables: QueueTables, subscriptions: string): readonly string[] {
  return [
    `create table if not exists ${subscriptions} (\n  ${subscriptionColumns.map(columnSql).join(',\n  ')}\n)`,
    `create index if not exists ${named(tables, 'sub_tenant')} on ${subscriptions} (tenant, grupo_empresarial ${keyOrder}, processo ${keyOrder})`,
    `create index if not exists ${named(tables, 'sub_topic')} on ${subscriptions} (processo ${keyOrder}) where ativo`,
  ];
}

/** The queue's workers. */
export function workersTableSql({ workers }: QueueTables): string {
  return `create table if not exists ${workers} (
  id bigint generated always as identity primary key,
  host text not null,
  pid integer not null,
  version text not null,
  concurrency integer not null,
  routes text[] not null,
  dead_routes text[] not null default '{}',
  schedules text[] not null default '{}',
  started_at timestamptz not null default clock_timestamp(),
  stopped_at timestamptz,
  lease_until timestamptz,
  missed_at timestamptz,
  halt_at timestamptz,
  parent bigint,
  output text
)`;
}

/** Paused routes. */
export function pausedTableSql({ paused }: QueueTables): string {
  return `create table if not exists ${paused} (
  route text ${keyOrder} primary key,
  paused_at timestamptz not null default clock_timestamp()
)`;
}

/** What recurs. Rule and task are JSON, as the library writes them. */
export function schedulesTableSql(tables: QueueTables): readonly string[] {
  const { schedules } = tables;
  return [
    `create table if not exists ${schedules} (
  id character varying(${longestScheduleId}) ${keyOrder} primary key,
  declared boolean not null,
  rule text not null,
  task text not null,
  next_at timestamptz,
  last_at timestamptz,
  missed bigint not null default 0,
  paused_at timestamptz,
  revision bigint not null default 1
)`,
    `create index if not exists ${named(tables, 'schedule_next')} on ${schedules} (next_at) where paused_at is null`,
  ];
}

/** What ended in the past day, by minutes and routes, and how long it waited and ran: see `lib/observability/history`. */
export function historyTableSql({ history }: QueueTables): string {
  return `create table if not exists ${history} (
  at timestamptz not null,
  route text ${keyOrder} not null,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  buried bigint not null default 0,
  delivered bigint not null default 0,
  unhandled bigint not null default 0,
  waits real[] not null default '{}',
  runs real[] not null default '{}',
  lag_ms bigint,
  primary key (at, route)
)`;
}

/** The state of subscriptions' endpoints; a row appears with the first change. */
export function webhooksTableSql({ webhooks }: QueueTables): string {
  return `create table if not exists ${webhooks} (
  subscriber_id character varying(100) ${keyOrder} primary key,
  secrets jsonb not null default '[]',
  failures integer not null default 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  open_until timestamptz,
  probing_until timestamptz,
  deactivated_at timestamptz,
  deactivated_for text
)`;
}

/**
 * The key that fan-out seals deliveries with, as HMAC-SHA256 uses it: 64 random bytes, combined with its two constants
 * beforehand, so that a seal is two calls of `sha256()`. One row, which never changes. Only roles with the rights of a worker
 * may read it: whoever has the key can choose where signed requests go.
 */
export function sealTableSql(tables: QueueTables): readonly string[] {
  const { seal } = tables;
  return [
    `create table if not exists ${seal} (
  single boolean primary key default true check (single),
  inner_key bytea not null,
  outer_key bytea not null
)`,
    `revoke all on ${seal} from public`,
    insertSealSql(tables),
  ];
}

/** Makes the key, unless there is one. */
export function insertSealSql({ seal }: Pick<QueueTables, 'seal'>): string {
  const pad = (constant: number): string =>
    `decode(string_agg(lpad(to_hex(get_byte(key, i) # ${constant}), 2, '0'), '' order by i), 'hex')`;
  return `insert into ${seal} (inner_key, outer_key)
select ${pad(0x36)},
  ${pad(0x5c)}
from (
  select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
    || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as key
) random, generate_series(0, 63) i
on conflict (single) do nothing`;
}

/** Which version each queue's tables have, shared by the queues of a schema. */
export function migrationsTableSql({ migrations }: QueueTables): string {
  return `create table if not exists ${migrations} (
  table_name text ${keyOrder} primary key,
  version integer not null,
  identity uuid not null default gen_random_uuid(),
  applied_at timestamptz not null default clock_timestamp()
)`;
}

/** One row per logical task, with English names. */
export function viewSql({ view, queue }: QueueTables): string {
  return `create or replace view ${view} as
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
where f.reenfileirado is not true`;
}
