import type { Pool } from 'pg';

/**
 * A queue `tasks` as the first version of the library made it, in a schema of its own, with some rows: without the
 * later columns of its workers, without pauses, with older indexes, triggers and view. Besides, without `perdas`.
 */
export async function agedQueue(pool: Pool, schema: string): Promise<void> {
  await pool.query(`
    create schema ${schema};
    create table ${schema}.tasks (
      id bigserial primary key,
      id_inicial bigint,
      data_hora_inicial timestamptz default clock_timestamp(),
      data_hora timestamptz default clock_timestamp(),
      origem varchar(150),
      destino varchar(150),
      processo varchar(250),
      chave_externa varchar(100),
      proxima_tentativa timestamptz,
      tentativa integer default 1,
      status varchar(100) default 'pendente',
      reenfileirado boolean default false,
      estouro_tentativas boolean default false,
      mensagem varchar(500),
      id_anterior bigint,
      data_hora_anterior timestamptz,
      status_anterior varchar(100),
      mensagem_anterior varchar(500),
      payload text,
      tenant bigint,
      grupo_empresarial varchar(40),
      payload_hash bytea,
      pub_sub boolean not null default false,
      publication_id bigint,
      subscriber_id varchar(100),
      dead boolean not null default false,
      live_id bigint,
      prioridade integer default 50,
      executor bigint,
      reserva integer not null default 0,
      rodada integer not null default 0,
      iniciada_em timestamptz,
      finalizada_em timestamptz,
      resultado text,
      erro text,
      metadados jsonb
    ) with (fillfactor = 85);
    create index tasks_ready on ${schema}.tasks (
      ((case when pub_sub and not dead then 'p' when subscriber_id is not null then 's:' || subscriber_id
        else 't:' || coalesce(processo, '') end) collate "C"), prioridade desc, data_hora, id) where status = 'pendente';
    create index tasks_scheduled on ${schema}.tasks (data_hora, id) where status = 'agendada';
    create index tasks_running on ${schema}.tasks (executor) where status = 'processando';
    create index tasks_equivalent on ${schema}.tasks (chave_externa, payload_hash)
      where chave_externa is not null and status in ('pendente', 'agendada', 'sucesso');
    create index tasks_attempts on ${schema}.tasks (id_inicial) where id_inicial is not null;
    create unique index tasks_dead on ${schema}.tasks (live_id, rodada) where dead and id_anterior is null;
    create unique index tasks_deliveries on ${schema}.tasks (publication_id, subscriber_id, rodada)
      where publication_id is not null and id_anterior is null and not dead;
    create unique index tasks_successor on ${schema}.tasks (id_anterior) where id_anterior is not null;
    create function ${schema}.tasks_schedule() returns trigger language plpgsql as $$
      begin new.status := 'agendada'; return new; end $$;
    create trigger tasks_schedule before insert on ${schema}.tasks for each row
      when (new.status = 'pendente' and new.data_hora > clock_timestamp()) execute function ${schema}.tasks_schedule();
    create function ${schema}.tasks_ring() returns trigger language plpgsql as $$
      begin perform pg_notify(tg_argv[0], ''); return null; end $$;
    create trigger tasks_ring after insert on ${schema}.tasks referencing new table as inserted for each statement
      execute function ${schema}.tasks_ring('bell');
    create table ${schema}.tasks_subscriber (
      id varchar(100) primary key,
      tenant bigint,
      grupo_empresarial varchar(40),
      processo varchar(250) not null,
      url varchar(2048),
      http_method varchar(8),
      headers json,
      ativo boolean not null default true,
      created_at timestamptz not null default now()
    );
    create table ${schema}.tasks_worker (
      id bigint generated always as identity primary key,
      host text not null,
      pid integer not null,
      version text not null,
      concurrency integer not null,
      routes text[] not null,
      started_at timestamptz not null default clock_timestamp(),
      stopped_at timestamptz
    );
    create table ${schema}.tarefa_migration (
      table_name text primary key,
      version integer not null,
      identity uuid not null default gen_random_uuid(),
      applied_at timestamptz not null default clock_timestamp()
    );
    create view ${schema}.tasks_tasks as
      select coalesce(f.id_inicial, f.id) as id, f.status from ${schema}.tasks f where f.reenfileirado is not true;
    insert into ${schema}.tarefa_migration (table_name, version) values ('tasks', 1);
    insert into ${schema}.tasks (processo, payload) select 'greet', 'task ' || n from generate_series(1, 20) n`);
}
