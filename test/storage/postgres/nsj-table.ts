import type { Pool } from 'pg';

/** How old a table is. */
export interface NsjAge {
  /** Before 1.0 there was none. */
  readonly hasPriority?: boolean;
  /** Old ones had times without zone. */
  readonly time?: 'timestamp with time zone' | 'timestamp without time zone';
  /** Where its trigger rings; default: the table's name. */
  readonly channel?: string;
  /** Whether the trigger's own condition, as db_gen writes it, or its function keeps later tasks quiet. */
  readonly condition?: 'trigger' | 'function';
  /** The first argument of `pg_notify`: a declared variable, as db_gen writes it, or the text itself. */
  readonly naming?: 'variable' | 'text';
}

/** Makes a queue as nsj-queue-lib does: table, four indexes, trigger, subscriptions table. */
export async function createNsjTable(
  pool: Pool,
  table: string,
  {
    hasPriority = true,
    time = 'timestamp with time zone',
    channel = table,
    condition = 'trigger',
    naming = 'variable',
  }: NsjAge = {},
): Promise<void> {
  const isDue = `new.data_hora <= clock_timestamp() and new.status <> 'agendada'`;
  await pool.query(`
    create table ${table} (
      id bigserial primary key,
      id_inicial int8,
      data_hora_inicial ${time} default clock_timestamp(),
      data_hora ${time} default clock_timestamp(),
      origem varchar(150),
      destino varchar(150),
      processo varchar(250),
      chave_externa varchar(100),
      proxima_tentativa ${time},
      tentativa int default 1,
      status varchar(100) default 'pendente',
      reenfileirado bool default false,
      estouro_tentativas bool default false,
      mensagem varchar(500),
      id_anterior int8,
      data_hora_anterior ${time},
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
      live_id int8${hasPriority ? ',\n      prioridade int default 50' : ''}
    );
    create index on ${table} (status);
    create index on ${table} (status, tentativa, data_hora);
    create index on ${table} (data_hora);
    create index on ${table} (chave_externa, payload_hash, status);
    create function notify_${table}_insert() returns trigger language plpgsql as $$
    ${naming === 'variable' ? `declare\n      channel_name text := '${channel}';` : ''}
    begin
      ${condition === 'function' ? `if ${isDue} then` : ''}
        perform pg_notify(${naming === 'variable' ? 'channel_name' : `'${channel}'`}, '');
      ${condition === 'function' ? 'end if;' : ''}
      return null;
    end $$;
    create trigger trigger_insert_${table} after insert on ${table} for each row
      ${condition === 'trigger' ? `when (${isDue})` : ''} execute function notify_${table}_insert();
    create table ${table}_subscriber (
      id varchar(100) not null primary key,
      tenant int8,
      grupo_empresarial varchar(40),
      processo varchar(250) not null,
      url varchar(2048),
      http_method varchar(8),
      headers json,
      ativo bool not null default true,
      created_at ${time} not null default now()
    );
    create index on ${table}_subscriber (tenant, grupo_empresarial, processo)`);
}
