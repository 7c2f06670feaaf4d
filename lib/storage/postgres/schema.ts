import { quoteIdentifier, quoteLiteral, type QueueTables } from './identifiers.js';
import { routeExpression } from './statement.js';

/** Version of what `schemaStatements` makes; recorded per table. */
export const schemaVersion = 1;

/** A column: its name, its type as PostgreSQL prints it, and the rest of its definition. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly rest?: string;
}

/** The 28 columns of the contract, in its order: tables and clients of nsj-queue-lib share them. */
export const contractColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: 'bigint', rest: 'primary key' },
  { name: 'id_inicial', type: 'bigint' },
  { name: 'data_hora_inicial', type: 'timestamp with time zone', rest: 'default clock_timestamp()' },
  { name: 'data_hora', type: 'timestamp with time zone', rest: 'default clock_timestamp()' },
  { name: 'origem', type: 'character varying(150)' },
  { name: 'destino', type: 'character varying(150)' },
  { name: 'processo', type: 'character varying(250)' },
  { name: 'chave_externa', type: 'character varying(100)' },
  { name: 'proxima_tentativa', type: 'timestamp with time zone' },
  { name: 'tentativa', type: 'integer', rest: 'default 1' },
  { name: 'status', type: 'character varying(100)', rest: `default 'pendente'` },
  { name: 'reenfileirado', type: 'boolean', rest: 'default false' },
  { name: 'estouro_tentativas', type: 'boolean', rest: 'default false' },
  { name: 'mensagem', type: 'character varying(500)' },
  { name: 'id_anterior', type: 'bigint' },
  { name: 'data_hora_anterior', type: 'timestamp with time zone' },
  { name: 'status_anterior', type: 'character varying(100)' },
  { name: 'mensagem_anterior', type: 'character varying(500)' },
  { name: 'payload', type: 'text' },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: 'character varying(40)' },
  { name: 'payload_hash', type: 'bytea' },
  { name: 'pub_sub', type: 'boolean', rest: 'not null default false' },
  { name: 'publication_id', type: 'bigint' },
  { name: 'subscriber_id', type: 'character varying(100)' },
  { name: 'dead', type: 'boolean', rest: 'not null default false' },
  { name: 'live_id', type: 'bigint' },
  { name: 'prioridade', type: 'integer', rest: 'default 50' },
];

/** What this library adds, all nullable or with constant defaults, so that adding them is instant. */
export const ownColumns: readonly ColumnDefinition[] = [
  { name: 'executor', type: 'bigint' },
  { name: 'reserva', type: 'integer', rest: 'not null default 0' },
  { name: 'rodada', type: 'integer', rest: 'not null default 0' },
  { name: 'perdas', type: 'integer', rest: 'not null default 0' },
  { name: 'iniciada_em', type: 'timestamp with time zone' },
  { name: 'finalizada_em', type: 'timestamp with time zone' },
  { name: 'resultado', type: 'text' },
  { name: 'erro', type: 'text' },
  { name: 'metadados', type: 'jsonb' },
];

/** The 9 columns of the subscriptions table, also a contract. */
export const subscriptionColumns: readonly ColumnDefinition[] = [
  { name: 'id', type: 'character varying(100)', rest: 'primary key' },
  { name: 'tenant', type: 'bigint' },
  { name: 'grupo_empresarial', type: 'character varying(40)' },
  { name: 'processo', type: 'character varying(250)', rest: 'not null' },
  { name: 'url', type: 'character varying(2048)' },
  { name: 'http_method', type: 'character varying(8)' },
  { name: 'headers', type: 'json' },
  { name: 'ativo', type: 'boolean', rest: 'not null default true' },
  { name: 'created_at', type: 'timestamp with time zone', rest: 'not null default now()' },
];

/** What the workers' table got after its first version. */
export const laterWorkerColumns: readonly ColumnDefinition[] = [
  { name: 'lease_until', type: 'timestamp with time zone' },
  { name: 'missed_at', type: 'timestamp with time zone' },
];

/** What is known of a subscription's endpoint; its rows appear when there is something to know. */
const webhookTable = (name: string): string => `create table if not exists ${name} (
  subscriber_id character varying(100) primary key,
  secrets jsonb not null default '[]',
  failures integer not null default 0,
  failing_since timestamptz,
  last_success_at timestamptz,
  open_until timestamptz,
  probing_until timestamptz,
  deactivated_at timestamptz,
  deactivated_for text
)`;

/** An index of the queue table: partial wherever a row on the success path can stay out of it. */
export interface IndexDefinition {
  readonly suffix: string;
  readonly unique?: boolean;
  readonly on: string;
  readonly where?: string;
}

export const queueIndexes: readonly IndexDefinition[] = [
  // What claims walk.
  {
    suffix: 'ready',
    on: `((${routeExpression('')}), prioridade desc, data_hora, id)`,
    where: `status = 'pendente'`,
  },
  // What promotion and the timer walk.
  { suffix: 'scheduled', on: '(data_hora, id)', where: `status = 'agendada'` },
  // What recovery walks.
  { suffix: 'running', on: '(executor)', where: `status = 'processando'` },
  {
    suffix: 'equivalent',
    on: '(chave_externa, payload_hash)',
    where: `chave_externa is not null and status in ('pendente', 'agendada', 'sucesso')`,
  },
  { suffix: 'attempts', on: '(id_inicial)', where: 'id_inicial is not null' },
  // `deliveries` also answers what became of a publication. The unique ones make a second dead chain, delivery or next attempt impossible.
  { suffix: 'dead', unique: true, on: '(live_id, rodada)', where: 'dead and id_anterior is null' },
  {
    suffix: 'deliveries',
    unique: true,
    on: '(publication_id, subscriber_id, rodada, dead, tentativa)',
    where: 'publication_id is not null',
  },
  { suffix: 'successor', unique: true, on: '(id_anterior)', where: 'id_anterior is not null' },
  // What purge walks; costs next to nothing on the way in.
  { suffix: 'age', on: 'using brin (data_hora) with (autosummarize = on)' },
];

/** Statements that make what is missing of a queue; each may be run again. */
export function schemaStatements(
  tables: QueueTables,
  channel: string,
  { rings, webhooks }: { readonly rings: boolean; readonly webhooks: boolean },
): readonly string[] {
  const { queue, workers, paused, migrations, view, quotedSchema, table, subscriptions } = tables;
  const id = { name: 'id', type: 'bigserial', rest: 'primary key' };
  const columns = [id, ...contractColumns.slice(1), ...ownColumns].map(columnSql).join(',\n  ');
  const inSchema = (suffix: string): string => `${quotedSchema}.${quoteIdentifier(`${table}_${suffix}`)}`;
  const named = (suffix: string): string => quoteIdentifier(`${table}_${suffix}`);

  return [
    `create table if not exists ${queue} (\n  ${columns}\n) with (fillfactor = 85)`,
    `alter table ${queue}\n  ${ownColumns.map((c) => `add column if not exists ${columnSql(c)}`).join(',\n  ')}`,
    ...queueIndexes.map(
      ({ suffix, unique, on, where }) =>
        `create ${unique ? 'unique ' : ''}index if not exists ${named(suffix)} on ${queue} ${on}${where ? ` where ${where}` : ''}`,
    ),
    scheduleFunction(inSchema('schedule')),
    `drop trigger if exists ${named('schedule')} on ${queue}`,
    `create trigger ${named('schedule')} before insert on ${queue} for each row when (${needsFiling})
  execute function ${inSchema('schedule')}()`,
    ringFunction(inSchema('ring')),
    ...(rings
      ? [
          // One that was disabled is there without being found.
          `drop trigger if exists ${named('ring')} on ${queue}`,
          `create trigger ${named('ring')} after insert on ${queue} referencing new table as inserted for each statement
  when (coalesce(current_setting('tarefa.quiet', true), '') <> 'on')
  execute function ${inSchema('ring')}(${quoteLiteral(channel)})`,
        ]
      : []),
    ...(subscriptions
      ? [
          `create table if not exists ${subscriptions} (\n  ${subscriptionColumns.map(columnSql).join(',\n  ')}\n)`,
          `create index if not exists ${named('sub_tenant')} on ${subscriptions} (tenant, grupo_empresarial, processo)`,
          `create index if not exists ${named('sub_topic')} on ${subscriptions} (processo) where ativo`,
        ]
      : []),
    `create table if not exists ${workers} (
  id bigint generated always as identity primary key,
  host text not null,
  pid integer not null,
  version text not null,
  concurrency integer not null,
  routes text[] not null,
  started_at timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
)`,
    `alter table ${workers} ${laterWorkerColumns.map((c) => `add column if not exists ${columnSql(c)}`).join(', ')}`,
    `create table if not exists ${paused} (
  route text primary key,
  paused_at timestamptz not null default clock_timestamp()
)`,
    ...(webhooks ? [webhookTable(tables.webhooks)] : []),
    `create table if not exists ${migrations} (
  table_name text primary key,
  version integer not null,
  identity uuid not null default gen_random_uuid(),
  applied_at timestamptz not null default clock_timestamp()
)`,
    viewSql(view, queue),
  ];
}

// A producer may leave out or null any column with a default, or insert a task for later: filed as it should be.
const needsFiling = `(new.status = 'pendente' and new.data_hora > clock_timestamp())
    or new.status is null or new.data_hora is null or new.data_hora_inicial is null
    or new.tentativa is null or new.prioridade is null`;

const scheduleFunction = (
  name: string,
): string => `create or replace function ${name}() returns trigger language plpgsql as $$
begin
  new.status := coalesce(new.status, 'pendente');
  new.data_hora := coalesce(new.data_hora, clock_timestamp());
  new.data_hora_inicial := coalesce(new.data_hora_inicial, new.data_hora);
  new.tentativa := coalesce(new.tentativa, 1);
  new.prioridade := coalesce(new.prioridade, 50);
  if new.status = 'pendente' and new.data_hora > clock_timestamp() then
    new.status := 'agendada';
  end if;
  return new;
end $$`;

// What the bell says: the second in which the first of these tasks is due, their highest priority, and
// whether some are for later. Whole seconds, so that equal rings of one transaction become one.
const ringFunction = (
  name: string,
): string => `create or replace function ${name}() returns trigger language plpgsql as $$
declare
  due timestamptz;
  priority integer;
  later boolean;
begin
  select min(data_hora), max(prioridade), bool_or(status = 'agendada')
  into due, priority, later
  from inserted
  where status in ('pendente', 'agendada');
  if due is not null then
    perform pg_catalog.pg_notify(tg_argv[0],
      floor(extract(epoch from due))::bigint || ' ' || priority || case when later then ' later' else '' end);
  end if;
  return null;
end $$`;

const viewSql = (view: string, queue: string): string => `create or replace view ${view} as
select
  coalesce(f.id_inicial, f.id) as task_id,
  f.id as attempt_id,
  case f.status when 'agendada' then 'scheduled' when 'pendente' then 'pending' when 'processando' then 'processing'
    when 'sucesso' then 'succeeded' when 'falha' then 'failed' when 'falha_processando' then 'failed'
    else f.status end as status,
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
  f.metadados as metadata
from ${queue} f
where f.reenfileirado is not true`;

function columnSql({ name, type, rest }: ColumnDefinition): string {
  return rest ? `${name} ${type} ${rest}` : `${name} ${type}`;
}
