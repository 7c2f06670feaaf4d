import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { useApp } from '../../support/queue-app.js';
import { nextEvent, until } from '../../support/waiting.js';
import { readColumns, readIndexes } from './catalog.js';
import { createNsjTable } from './nsj-table.js';

const database = await useDatabase();
const { pool } = database;
const calls: (readonly [name: string, payload: unknown, attempt: number])[] = [];

class Handlers {
  @TaskHandler('greet')
  greet(payload: unknown, { task }: { readonly task: { readonly attempt: number } }): void {
    calls.push(['greet', payload, task.attempt]);
  }

  @DeadTaskHandler('greet')
  mourn(payload: unknown): void {
    calls.push(['mourn', payload, 1]);
  }

  @Subscriber('mail')
  mail(payload: unknown): void {
    calls.push(['mail', payload, 1]);
  }
}

// Rows in every state that nsj-queue-lib leaves behind. It files future tasks as pending, and crashed ones as
// `falha_processando`.
await createNsjTable(pool, 'tasks');
const hash = createHash('sha256').update('one').digest('hex');
await pool.query(`
  insert into tasks_subscriber (id, processo) values ('mail', 'placed');
  insert into tasks (processo, payload, chave_externa, payload_hash) values ('greet', 'one', 'k', '${hash}');
  insert into tasks (processo, payload, status, reenfileirado) values ('greet', 'two', 'falha', true);
  insert into tasks (processo, status, tentativa, id_inicial, id_anterior, data_hora)
    values ('greet', 'agendada', 2, 2, 2, now() - interval '1 minute');
  insert into tasks (processo, payload, pub_sub) values ('placed', 'letter', true);
  insert into tasks (processo, payload, data_hora) values ('greet', 'later', now() + interval '1 second');
  insert into tasks (processo, payload, status, reenfileirado) values ('greet', 'crashed', 'falha_processando', true);
  insert into tasks (processo, tentativa, id_inicial, id_anterior) values ('greet', 2, 6, 6);
  insert into tasks (processo, payload, status, mensagem) values ('greet', 'past', 'sucesso', 'ok');
  insert into tasks (processo, payload, status) values ('greet', 'elsewhere', 'processando');
  insert into tasks (processo, payload, dead, live_id) values ('greet', 'lost', true, 8)`);
const app = await useApp(database, { handlers: [Handlers], pollIntervalMs: 100, purgeMaxAgeDays: 0 });

test('a table of nsj-queue-lib is completed, and what it had stays as it was', async () => {
  const names = (await readColumns(pool, 'tasks')).map(([name]) => name);
  expect(names.slice(27)).toEqual([
    'prioridade',
    'executor',
    'reserva',
    'rodada',
    'perdas',
    'iniciada_em',
    'finalizada_em',
    'resultado',
    'erro',
    'metadados',
    'chave_unica',
    'chave_fila',
    'limite',
    'lote',
    'prazo',
    'consumidor',
    'cancelada_por',
  ]);
  // The primary key, four of its own, nine of ours.
  expect(Object.keys(await readIndexes(pool, 'tasks'))).toHaveLength(18);
  const { rows } = await pool.query(
    `select tgname::text from pg_trigger where tgrelid = 'tasks'::regclass and not tgisinternal order by 1`,
  );
  expect(rows.map(({ tgname }) => tgname)).toEqual(['tasks_ring', 'tasks_schedule', 'trigger_insert_tasks']);
});

test('its rows run, each by its rules', async () => {
  await until(async () => calls.length === 6, 'six calls');
  expect([...calls].sort((a, b) => String(a[1]).localeCompare(String(b[1])))).toEqual([
    ['greet', 'crashed', 2],
    ['greet', 'later', 1],
    ['mail', 'letter', 1],
    ['mourn', 'lost', 1],
    ['greet', 'one', 1],
    ['greet', 'two', 2],
  ]);
});

test('an attempt that a worker of nsj-queue-lib runs is left to it', async () => {
  expect(await app.retry.run()).toBe(0);
  const { rows } = await pool.query(`select status, executor from tasks where payload = 'elsewhere'`);
  expect(rows).toEqual([{ status: 'processando', executor: null }]);
});

test('its tasks are found as equivalent, and shown in the view', async () => {
  const [equivalent] = await app.queue.listEquivalentTask({
    topic: 'greet',
    externalKey: 'k',
    payload: 'one',
  });
  expect(equivalent).toMatchObject({ id: '1', payload: 'one' });
  const { rows } = await pool.query(
    'select task_id::int as task, status from tasks_tasks where task_id in (1, 2, 6, 9) order by 1',
  );
  expect(rows).toEqual([
    { task: 1, status: 'succeeded' },
    { task: 2, status: 'succeeded' },
    { task: 6, status: 'succeeded' },
    { task: 9, status: 'processing' },
  ]);
});

test('its clients keep inserting', async () => {
  const completed = nextEvent(app.events, 'task.completed');
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks (origem, destino, processo, chave_externa, payload) values ('a', 'b', 'greet', 'c', 'new')
     returning id`,
  );
  expect(await completed).toMatchObject({ task: { id: rows[0]?.id, topic: 'greet' } });
});

test('its history is purged, but not what runs elsewhere', async () => {
  await app.purge.run();
  const { rows } = await pool.query('select payload from tasks');
  expect(rows).toEqual([{ payload: 'elsewhere' }]);
});

test('an exhausted attempt of a crashed worker is shown as failed', async () => {
  await pool.query(
    `insert into tasks (processo, status, estouro_tentativas) values ('greet', 'falha_processando', true)`,
  );
  const { rows } = await pool.query('select status from tasks_tasks where attempt_id > 10 order by 1');
  expect(rows).toEqual([{ status: 'failed' }]);
});
