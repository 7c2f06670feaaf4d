import { setTimeout as pause } from 'node:timers/promises';
import { createConnection, createPool, type Connection, type RowDataPacket } from 'mysql2/promise';
import type { Adapter, OpenAdapter, Payload } from '../protocol.js';
import { isDone } from '../tarefa/is-done.js';
import { openQueue, table } from '../tarefa/queue.js';

/** Rows that one claim takes: as many as the library's workers have slots beside it. */
const claimSize = 100;
const emptyPauseMs = 5;

const isDeadlock = (error: unknown): boolean => (error as { errno?: unknown }).errno === 1213;

/**
 * The floor on MariaDB: what SQL and the driver cost on the library's own table, with all its indexes and triggers. One
 * connection settles the last batch and claims the next in one transaction of two texts, from where the last claim has ended; no
 * retries, no leases, no fences. Two texts because a statement cannot both lock what it skips to and change it here.
 */
const open: OpenAdapter = ({ database: url }): Adapter => ({
  setup: async () => {
    const queue = await openQueue(url, [], { worker: false });
    await queue.close();
  },
  producer: async (connections) => {
    const pool = createPool({ uri: url, connectionLimit: connections });
    const insert = (payloads: readonly Payload[]): Promise<unknown> =>
      pool.query(`insert into ${table} (processo, payload) values ?`, [
        payloads.map((payload) => ['t0', JSON.stringify(payload)]),
      ]);
    return { one: (payload) => insert([payload]), many: insert, close: () => pool.end() };
  },
  work: async (kind, started) => {
    if (kind !== 'empty') throw new Error(`the bare loop cannot ${kind}`);
    const connection = await createConnection({
      uri: url,
      multipleStatements: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
    });
    await connection.query('set session transaction isolation level read committed');
    workInBatches(connection, started).catch((error: unknown) => {
      process.stderr.write(`bare: ${String(error)}\n`);
      process.exit(1);
    });
  },
  isDone: () => isDone(url),
});

export default open;

interface Batch {
  readonly ids: readonly string[];
  /** When the last of it was due, to the microsecond. */
  readonly until: string | undefined;
}

/** Completes a batch and claims the next, for ever. */
async function workInBatches(connection: Connection, started: (payload: Payload) => void): Promise<never> {
  let batch: Batch = { ids: [], until: undefined };
  for (;;) {
    try {
      batch = await advance(connection, batch, started);
    } catch (error) {
      if (!isDeadlock(error)) throw error;
      await connection.query('rollback');
      continue;
    }
    if (batch.ids.length === 0) await pause(emptyPauseMs);
  }
}

async function advance(
  connection: Connection,
  { ids, until }: Batch,
  started: (payload: Payload) => void,
): Promise<Batch> {
  const since = until === undefined ? '' : `and data_hora >= ${connection.escape(until)}`;
  const [answers] = await connection.query<RowDataPacket[][]>(`start transaction;
${ids.length === 0 ? 'do 0' : settle(ids)};
select id, payload, cast(data_hora as char) as due from ${table} force index (ready)
where rota_pronta = cast('t:t0' as binary) and prioridade = 50 ${since} and data_hora <= utc_timestamp(6)
order by prioridade desc, data_hora, id limit ${claimSize} for update skip locked`);
  const rows = answers.at(-1) ?? [];
  const claimed = rows.map((row) => String(row['id']));
  await connection.query(claimed.length === 0 ? 'commit' : `${claim(claimed)}; commit`);
  for (const row of rows) started(JSON.parse(String(row['payload'])) as Payload);
  // From the front again where nothing was left behind the last one.
  return { ids: claimed, until: rows.at(-1)?.['due'] as string | undefined };
}

const settle = (ids: readonly string[]): string => `update ${table} force index (primary)
set status = 'sucesso', finalizada_em = utc_timestamp(6) where id in (${ids.join()})`;

const claim = (ids: readonly string[]): string => `update ${table} force index (primary)
set status = 'processando', executor = 0, reserva = reserva + 1, iniciada_em = utc_timestamp(6) where id in (${ids.join()})`;
