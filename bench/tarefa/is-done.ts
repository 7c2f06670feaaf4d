import { Client } from 'pg';
import { table } from './queue.js';

const noneLeft = `select not exists (select from ${table} where status = 'pendente')
  and not exists (select from ${table} where status = 'processando')
  and not exists (select from ${table} where status = 'agendada') as done`;

let prober: Client | undefined;

/** Whether every task of the library's table has ended. */
export async function isDone(url: string): Promise<boolean> {
  prober ??= await connect(url);
  const { rows } = await prober.query<{ done: boolean }>({ name: 'done', text: noneLeft });
  return rows[0]?.done === true;
}

/** Looks by the partial indexes, which are empty at the end, whatever the statistics of a full table say. */
async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('set enable_seqscan = off');
  return client;
}
