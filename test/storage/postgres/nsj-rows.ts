import { createHash } from 'node:crypto';
import type { Pool } from 'pg';

/** Ids of rows that tests speak of. */
export const nsjRows = {
  running: 9,
  deadTask: 10,
  twice: 17,
  ended: 20,
  publication: 23,
} as const;

/** The payload as nsj-queue-lib hashes it: the hexadecimal text, as bytes. */
const hash = (payload: string): string => `'${createHash('sha256').update(payload).digest('hex')}'::bytea`;

const envelope = (publication: string): string =>
  `'${JSON.stringify({ publication, subscription: { id: 'mail', processo: 'placed', tenant: null } })}'`;

/**
 * Fills a table the way nsj-queue-lib does: chains with retries, dead chains, publications and deliveries with envelopes,
 * future tasks filed as pending, attempts of killed workers; and what its unfenced workers have left twice.
 *
 * @param zone the TimeZone of its sessions, which times without zone are written in
 */
export async function fillAsNsj(
  pool: Pool,
  table: string,
  { hasPriority = true, zone = 'UTC' }: { readonly hasPriority?: boolean; readonly zone?: string } = {},
): Promise<void> {
  const ago = (minutes: number): string => `clock_timestamp() - interval '${minutes} minutes'`;
  const rows: readonly Readonly<Record<string, string>>[] = [
    // 1: waits. 2 and 3: failed once.
    { processo: `'greet'`, payload: `'one'`, payload_hash: hash('one'), chave_externa: `'k'`, tenant: '7' },
    {
      processo: `'greet'`,
      payload: `'two'`,
      payload_hash: hash('two'),
      status: `'falha'`,
      reenfileirado: 'true',
      mensagem: `'boom. Tarefa reenfileirada.'`,
      data_hora: ago(6),
      proxima_tentativa: ago(1),
    },
    {
      ...next(2, 2, 'greet'),
      payload_hash: hash('two'),
      status: `'agendada'`,
      data_hora: ago(1),
      data_hora_anterior: ago(6),
      status_anterior: `'processando'`,
    },
    // 4: a publication. 5: for later, filed as nsj-queue-lib does.
    { processo: `'placed'`, payload: `'letter'`, payload_hash: hash('letter'), pub_sub: 'true' },
    { processo: `'greet'`, payload: `'later'`, data_hora: `clock_timestamp() + interval '2 seconds'` },
    // 6 and 7: its worker was killed. 8: done. 9: its worker was killed, and nobody has looked since.
    { processo: `'greet'`, payload: `'crashed'`, status: `'falha_processando'`, reenfileirado: 'true' },
    next(6, 2, 'greet'),
    { processo: `'greet'`, payload: `'past'`, status: `'sucesso'`, mensagem: `'ok'`, data_hora: ago(3) },
    { processo: `'greet'`, payload: `'elsewhere'`, status: `'processando'`, data_hora: ago(2) },
    // 10 to 13: a task that ran out of attempts, and its dead chain.
    { processo: `'greet'`, payload: `'lost'`, status: `'falha'`, reenfileirado: 'true' },
    { ...next(10, 2, 'greet'), status: `'falha'`, reenfileirado: 'true' },
    { ...next(10, 3, 'greet', 11), status: `'falha'`, estouro_tentativas: 'true' },
    { processo: `'greet'`, payload: `'lost'`, payload_hash: hash('lost'), dead: 'true', live_id: '10' },
    // 14 to 16: a publication that was delivered, one delivery of it still waits.
    { processo: `'placed'`, payload: `'parcel'`, pub_sub: 'true', status: `'sucesso'` },
    { processo: `'placed'`, payload: envelope('parcel'), publication_id: '14', subscriber_id: `'mail'` },
    {
      processo: `'placed'`,
      payload: envelope('parcel'),
      publication_id: '14',
      subscriber_id: `'gone'`,
      status: `'sucesso'`,
    },
    // 17 to 19: two workers failed one attempt, so it is followed by two.
    { processo: `'fail'`, payload: `'twice'`, status: `'falha'`, reenfileirado: 'true' },
    { ...next(17, 2, 'fail'), status: `'agendada'`, data_hora: ago(1) },
    { ...next(17, 2, 'fail'), status: `'agendada'`, data_hora: ago(1) },
    // 20 to 22: they buried one task, twice.
    { processo: `'greet'`, payload: `'ended'`, status: `'falha'`, estouro_tentativas: 'true' },
    { processo: `'greet'`, payload: `'ended'`, dead: 'true', live_id: '20' },
    { processo: `'greet'`, payload: `'ended'`, dead: 'true', live_id: '20' },
    // 23 to 25: they delivered one publication, twice.
    { processo: `'placed'`, payload: `'copy'`, pub_sub: 'true', status: `'sucesso'` },
    { processo: `'placed'`, payload: envelope('copy'), publication_id: '23', subscriber_id: `'mail'` },
    { processo: `'placed'`, payload: envelope('copy'), publication_id: '23', subscriber_id: `'mail'` },
    // 26: too large, for tomorrow. 27: without a priority.
    {
      processo: `'greet'`,
      payload: `repeat('x', 1200000)`,
      status: `'agendada'`,
      data_hora: `clock_timestamp() + interval '1 day'`,
    },
    { processo: `'greet'`, payload: `'calm'`, ...(hasPriority ? { prioridade: 'null' } : {}) },
  ];
  const inserts = rows.map(
    (row) =>
      `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')})`,
  );
  await pool.query(`
    begin;
    set local timezone = '${zone}';
    insert into ${table}_subscriber (id, processo, url, http_method) values
      ('mail', 'placed', null, null),
      ('inside', 'hooked', 'http://10.0.0.1/in', 'POST'),
      ('odd', 'hooked', 'https://example.com/in?token=secret', 'PATCH'),
      ('plain', 'hooked', 'http://example.com/in?token=secret', 'post'),
      ('none', 'hooked', 'https://example.com/in', null);
    ${inserts.join(';\n')};
    commit`);
}

/** The next attempt of a chain, whose payload is the first one's. */
function next(first: number, attempt: number, topic: string, previous = first): Record<string, string> {
  return {
    processo: `'${topic}'`,
    id_inicial: String(first),
    id_anterior: String(previous),
    tentativa: String(attempt),
  };
}
