import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { Client } from 'pg';
import { table } from './queue.js';

const noneLeft = `select not exists (select from ${table} where status = 'pendente')
  and not exists (select from ${table} where status = 'processando')
  and not exists (select from ${table} where status = 'agendada') as done`;

/** Each has an index of its own, in which only such rows are. */
const noneLeftInMysql = `select not exists (select 1 from ${table} where rota_pronta is not null)
  and not exists (select 1 from ${table} where executor_ativo is not null)
  and not exists (select 1 from ${table} where agendada_em is not null) as done`;

type Prober = () => Promise<boolean>;

let prober: Prober | undefined;

/** Whether every task of the library's table has ended. */
export async function isDone(url: string): Promise<boolean> {
  prober ??= await (url.startsWith('mysql:') ? askMysql(url) : askPostgres(url));
  return prober();
}

/** Looks by the partial indexes, which are empty at the end, whatever the statistics of a full table say. */
async function askPostgres(url: string): Promise<Prober> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('set enable_seqscan = off');
  return async () => {
    const { rows } = await client.query<{ done: boolean }>({ name: 'done', text: noneLeft });
    return rows[0]?.done === true;
  };
}

async function askMysql(url: string): Promise<Prober> {
  const connection = await createConnection(url);
  return async () => {
    const [rows] = await connection.query<RowDataPacket[]>(noneLeftInMysql);
    return rows[0]?.['done'] === 1;
  };
}
