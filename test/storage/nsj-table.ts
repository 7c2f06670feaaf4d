import type { Pool } from 'pg';

/** Makes a queue as nsj-queue-lib does: table, four indexes, trigger, subscriptions table. */
export async function createNsjTable(pool: Pool, table: string): Promise<void> {
  await pool.query(`
    create table ${table} (
      id bigserial primary key,
      id_inicial int8,
      data_hora_inicial timestamp with time zone default clock_timestamp(),
      data_hora timestamp with time zone default clock_timestamp(),
      origem varchar(150),
      destino varchar(150),
      processo varchar(250),
      chave_externa varchar(100),
      proxima_tentativa timestamp with time zone,
      tentativa int default 1,
      status varchar(100) default 'pendente',
      reenfileirado bool default false,
      estouro_tentativas bool default false,
      mensagem varchar(500),
      id_anterior int8,
      data_hora_anterior timestamp with time zone,
      status_anterior varchar(100),
      mensagem_anterior varchar(500),
      payload text,
      tenant int8,
      grupo_empresarial varchar(40),
      payload_hash bytea,
      pub_sub bool not null default false,
      publication_id int8,
      subscriber_id varchar(100),
      dead bool not null default false,
      live_id int8,
      prioridade int default 50
    );
    create index on ${table} (status);
    create index on ${table} (status, tentativa, data_hora);
    create index on ${table} (data_hora);
    create index on ${table} (chave_externa, payload_hash, status);
    create function notify_${table}() returns trigger language plpgsql as $$
    begin
      if new.data_hora <= clock_timestamp() and new.status <> 'agendada' then
        perform pg_notify('${table}', '');
      end if;
      return new;
    end $$;
    create trigger trg_notify_${table} after insert on ${table} for each row execute function notify_${table}();
    create table ${table}_subscriber (
      id varchar(100) not null primary key,
      tenant int8,
      grupo_empresarial varchar(40),
      processo varchar(250) not null,
      url varchar(2048),
      http_method varchar(8),
      headers json,
      ativo bool not null default true,
      created_at timestamp with time zone not null default now()
    );
    create index on ${table}_subscriber (tenant, grupo_empresarial, processo)`);
}
