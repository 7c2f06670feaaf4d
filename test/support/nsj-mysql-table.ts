import type { Pool } from 'mysql2/promise';

/** Makes tables in MySQL or MariaDB with the columns that nsj-queue-lib's statements name. How its users define them is theirs. */
export async function createNsjMysqlTables(pool: Pool, table: string): Promise<void> {
  await pool.query(`
    create table ${table} (
      id bigint not null auto_increment primary key,
      id_inicial bigint,
      data_hora_inicial datetime(6) default current_timestamp(6),
      data_hora datetime(6) default current_timestamp(6),
      origem varchar(150),
      destino varchar(150),
      processo varchar(250),
      chave_externa varchar(100),
      proxima_tentativa datetime(6),
      tentativa int default 1,
      status varchar(100) default 'pendente',
      reenfileirado boolean default false,
      estouro_tentativas boolean default false,
      mensagem varchar(500),
      id_anterior bigint,
      data_hora_anterior datetime(6),
      status_anterior varchar(100),
      mensagem_anterior varchar(500),
      payload longtext,
      tenant bigint,
      grupo_empresarial varchar(40),
      payload_hash varbinary(64),
      pub_sub boolean not null default false,
      publication_id bigint,
      subscriber_id varchar(100),
      dead boolean not null default false,
      live_id bigint,
      prioridade int default 50
    );
    create table ${table}_subscriber (
      id varchar(100) not null primary key,
      tenant bigint,
      grupo_empresarial varchar(40),
      processo varchar(250) not null,
      url varchar(2048),
      http_method varchar(8),
      headers longtext,
      ativo boolean not null default true,
      created_at datetime(6) not null default current_timestamp(6)
    )`);
}
