import type { Pool } from 'pg';
import { isOrdinary } from './workload/hostile.js';
import { subscriptions } from './workload/kinds.js';

/**
 * What the judges need beside the queue `tasks`: effects without any unique key, a record of every transition by
 * trigger, and a copy (without payload) of every row that purge deletes, with what made it deletable. Hostile rows are
 * left out of all of it.
 */
const statements = `
create table effect (
  task_root bigint not null, attempt integer not null, dead boolean not null, key text, worker text not null,
  backend integer not null default pg_backend_pid(),
  xid xid8 not null default pg_current_xact_id(),
  app text not null default current_setting('application_name')
);

create table audit (
  n bigserial primary key, id bigint not null, old_status text, new_status text, old_reserva integer, new_reserva integer,
  old_executor bigint, new_executor bigint, at timestamptz not null default clock_timestamp()
);

create function write_audit() returns trigger language plpgsql as $$
begin
  insert into audit (id, old_status, new_status, old_reserva, new_reserva, old_executor, new_executor)
  values (coalesce(new.id, old.id), old.status, new.status, old.reserva, new.reserva, old.executor, new.executor);
  return null;
end $$;
create trigger audit_insert after insert on tasks for each row when (${isOrdinary('new')})
  execute function write_audit();
create trigger audit_update after update on tasks for each row
  when (${isOrdinary('new')} and (old.status is distinct from new.status
    or old.reserva is distinct from new.reserva or old.executor is distinct from new.executor))
  execute function write_audit();
create trigger audit_delete after delete on tasks for each row when (${isOrdinary('old')})
  execute function write_audit();

create table gone (like tasks, deleted_at timestamptz, unfinished boolean);
create function is_unfinished(root bigint) returns boolean language plpgsql as $$
declare
  live constant text[] := array['pendente', 'agendada', 'processando'];
begin
  return exists (select from tasks one where one.id = root and one.status = any(live))
    or exists (select from tasks one where one.id_inicial = root and one.status = any(live))
    -- Apart: with an "or" in between the cached plan would look at every row for each.
    or exists (
      select from tasks buried
      where buried.dead and buried.id_anterior is null and buried.live_id = root and buried.status = any(live)
    )
    or exists (
      select from tasks buried
      join tasks one on one.id_inicial = buried.id
      where buried.dead and buried.id_anterior is null and buried.live_id = root and one.status = any(live)
    );
end $$;
create function keep_gone() returns trigger language plpgsql as $$
begin
  old.payload := null;
  insert into gone select old.*, clock_timestamp(), is_unfinished(coalesce(old.id_inicial, old.id));
  return null;
end $$;
create trigger keep_gone after delete on tasks for each row when (${isOrdinary('old')}) execute function keep_gone();

-- A partition that purge drops fires no trigger of its rows.
create function keep_dropped() returns event_trigger language plpgsql as $$
declare
  dropped constant text := substring(current_query() from '^drop table (\\S+)$');
  columns text;
begin
  if dropped is null then return; end if;
  select string_agg(quote_ident(attname), ', ' order by attnum) into columns from pg_attribute
  where attrelid = dropped::regclass and attnum > 0 and not attisdropped and attname <> 'payload';
  execute format(
    $insert$insert into gone (%1$s, deleted_at, unfinished)
     select %1$s, clock_timestamp(), is_unfinished(coalesce(id_inicial, id)) from %2$s f where ${isOrdinary('f')}$insert$,
    columns, dropped);
end $$;
create event trigger keep_dropped on ddl_command_start when tag in ('DROP TABLE') execute function keep_dropped();
`;

/** Prepares a database whose queue tables exist. */
export async function createJudgesTables(pool: Pool): Promise<void> {
  await createRecords(pool);
  await createSubscriptions(pool);
}

/** Makes what the judges read, beside a table `tasks`. */
export async function createRecords(pool: Pool): Promise<void> {
  await pool.query(statements);
  const { rows } = await pool.query<{ list: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute
     where attrelid = 'tasks'::regclass and attnum > 0 and not attisdropped and attname <> 'payload'`,
  );
  const columns = rows[0]?.list ?? '';
  const all = `select ${columns}, coalesce(id_inicial, id) as root`;
  await pool.query(`
    create materialized view every_row as
    ${all}, false as gone from tasks f where ${isOrdinary('f')} union all ${all}, true from gone`);
  for (const column of ['id', 'root', 'id_anterior', 'live_id']) {
    await pool.query(`create index on every_row (${column})`);
  }
  await pool.query('create index on effect (task_root)');
  await pool.query('create index on audit (id)');
}

async function createSubscriptions(pool: Pool): Promise<void> {
  await pool.query(
    `insert into tasks_subscriber (id, processo, tenant)
     select id, topic, tenant from json_to_recordset($1) as (id text, topic text, tenant bigint)`,
    [JSON.stringify(subscriptions)],
  );
}

/** What the judges read of queue and purged rows, as it is now: taken once, because they join it in many ways. */
export async function readRows(pool: Pick<Pool, 'query'>): Promise<void> {
  await pool.query('refresh materialized view every_row');
  await pool.query('analyze every_row, effect, audit');
}
