import type { Pool } from 'pg';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { schemaScript } from '../../../lib/storage/postgres/schema/schema-statements.js';

/**
 * A queue `tasks` in a schema of its own, with 20 tasks, that rings the channel `bell`. Parts of each kind are missing or
 * differ from what the library makes, and the version that is written down is an earlier one: a migration has something to do
 * in each of its steps.
 */
export async function damagedQueue(pool: Pool, schema: string): Promise<void> {
  const tables = queueTables(schema, 'tasks', { schema, table: 'tasks_subscriber' });
  await pool.query(schemaScript(tables, 'bell', { webhooks: false }));
  await pool.query(`
    begin;
    set local search_path = ${schema};
    insert into tasks (processo, payload) select 'greet', 'task ' || n from generate_series(1, 20) n;
    drop table tasks_worker, tasks_paused, tasks_schedule, tasks_history, tasks_seal;
    drop index tasks_sub_tenant;
    drop trigger tasks_schedule on tasks;
    -- With it goes the index tasks_ready.
    alter table tasks drop column perdas;
    drop index tasks_successor, tasks_age;
    create index tasks_ready on tasks (data_hora, id) where status = 'pendente';
    create unique index tasks_successor on tasks (id_anterior) where id_anterior is not null;
    create or replace function tasks_ring() returns trigger language plpgsql as $$
      begin perform pg_notify(tg_argv[0], ''); return null; end $$;
    drop function tasks_insert;
    drop view tasks_tasks;
    create view tasks_tasks as select coalesce(f.id_inicial, f.id) as id, f.status from tasks f;
    update tarefa_migration set version = 0;
    commit`);
}
