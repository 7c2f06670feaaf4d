import { hostname } from 'node:os';
import { beforeAll, expect, test } from 'vitest';
import { schemaVersion } from '../../../lib/storage/postgres/schema/schema.js';
import { createDatabase, useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { readColumns, readIndexes, readSchema } from './catalog.js';

const database = await useDatabase();
const { pool } = database;

beforeAll(async () => {
  await (await startApp(database)).close();
});

const instant = 'timestamp with time zone';
const varchar = (length: number): string => `character varying(${length})`;

test('the queue table has the 28 columns of the contract in their order, and the new ones after', async () => {
  expect(await readColumns(pool, 'tasks')).toEqual([
    ['id', 'bigint', `nextval('tasks_id_seq'::regclass)`, true],
    ['id_inicial', 'bigint', null, false],
    ['data_hora_inicial', instant, 'clock_timestamp()', false],
    ['data_hora', instant, 'clock_timestamp()', false],
    ['origem', varchar(150), null, false],
    ['destino', varchar(150), null, false],
    ['processo', varchar(250), null, false],
    ['chave_externa', varchar(100), null, false],
    ['proxima_tentativa', instant, null, false],
    ['tentativa', 'integer', '1', false],
    ['status', varchar(100), `'pendente'::character varying`, false],
    ['reenfileirado', 'boolean', 'false', false],
    ['estouro_tentativas', 'boolean', 'false', false],
    ['mensagem', varchar(500), null, false],
    ['id_anterior', 'bigint', null, false],
    ['data_hora_anterior', instant, null, false],
    ['status_anterior', varchar(100), null, false],
    ['mensagem_anterior', varchar(500), null, false],
    ['payload', 'text', null, false],
    ['tenant', 'bigint', null, false],
    ['grupo_empresarial', varchar(40), null, false],
    ['payload_hash', 'bytea', null, false],
    ['pub_sub', 'boolean', 'false', true],
    ['publication_id', 'bigint', null, false],
    ['subscriber_id', varchar(100), null, false],
    ['dead', 'boolean', 'false', true],
    ['live_id', 'bigint', null, false],
    ['prioridade', 'integer', '50', false],
    ['executor', 'bigint', null, false],
    ['reserva', 'integer', '0', true],
    ['rodada', 'integer', '0', true],
    ['perdas', 'integer', '0', true],
    ['iniciada_em', instant, null, false],
    ['finalizada_em', instant, null, false],
    ['resultado', 'text', null, false],
    ['erro', 'text', null, false],
    ['metadados', 'jsonb', null, false],
    ['chave_unica', varchar(200), null, false],
    ['chave_fila', varchar(200), null, false],
    ['limite', varchar(300), null, false],
    ['lote', 'bigint', null, false],
    ['prazo', instant, null, false],
    ['consumidor', varchar(100), null, false],
    ['cancelada_por', varchar(200), null, false],
  ]);
});

test('the subscriptions table has its 9 columns', async () => {
  expect(await readColumns(pool, 'tasks_subscriber')).toEqual([
    ['id', varchar(100), null, true],
    ['tenant', 'bigint', null, false],
    ['grupo_empresarial', varchar(40), null, false],
    ['processo', varchar(250), null, true],
    ['url', varchar(2048), null, false],
    ['http_method', varchar(8), null, false],
    ['headers', 'json', null, false],
    ['ativo', 'boolean', 'true', true],
    ['created_at', instant, 'now()', true],
  ]);
});

test('each index is there with its predicate, and no other', async () => {
  const plain =
    `CASE WHEN (pub_sub AND (NOT dead)) THEN 'p'::text WHEN (subscriber_id IS NOT NULL) THEN ('s:'::text || ` +
    `(subscriber_id)::text) ELSE ('t:'::text || (COALESCE(processo, ''::character varying))::text) END`;
  const key = `COALESCE((''::text || (chave_fila)::text), ''::text)`.replace("''", "'\u001f'");
  const route = `CASE WHEN (perdas >= 2) THEN ('!'::text || ${plain}) ELSE ( ${plain} || ${key}) END`;
  const isOneOf = (...statuses: string[]): string =>
    `((status)::text = ANY ((ARRAY[${statuses.map((status) => `'${status}'::character varying`).join(', ')}])::text[]))`;
  expect(await readIndexes(pool, 'tasks')).toEqual({
    tasks_pkey: 'UNIQUE btree (id)',
    tasks_ready: `btree (( ${route}), prioridade DESC, data_hora, id) WHERE ((status)::text = 'pendente'::text)`,
    tasks_dead_ready: `btree (data_hora, id) WHERE (dead AND ((status)::text = 'pendente'::text))`,
    tasks_scheduled: `btree (data_hora, id) WHERE ((status)::text = 'agendada'::text)`,
    tasks_running: `btree (executor) WHERE ((status)::text = 'processando'::text)`,
    tasks_equivalent: `btree (chave_externa, payload_hash) WHERE ((chave_externa IS NOT NULL) AND ${isOneOf('pendente', 'agendada', 'sucesso')})`,
    tasks_attempts: 'btree (id_inicial) WHERE (id_inicial IS NOT NULL)',
    tasks_dead: 'UNIQUE btree (live_id, rodada) WHERE (dead AND (id_anterior IS NULL))',
    tasks_deliveries:
      'UNIQUE btree (publication_id, subscriber_id, rodada, dead, tentativa, COALESCE(live_id, (0)::bigint)) WHERE (publication_id IS NOT NULL)',
    tasks_successor: 'UNIQUE btree (id_anterior, rodada) WHERE (id_anterior IS NOT NULL)',
    tasks_unica:
      `UNIQUE btree (chave_unica) WHERE ((chave_unica IS NOT NULL) AND CASE "left"((chave_unica)::text, 2) WHEN 'w:'::text THEN (id_anterior IS NULL) ` +
      `WHEN 'p:'::text THEN (${isOneOf('pendente', 'agendada')} AND (reserva = 0) AND (id_anterior IS NULL)) ` +
      `ELSE ${isOneOf('pendente', 'agendada', 'processando')} END)`,
    tasks_limited: `btree (limite, chave_fila) WHERE ((limite IS NOT NULL) AND (((status)::text = 'processando'::text) OR (${isOneOf('agendada', 'pendente')} AND (id_anterior IS NOT NULL))))`,
    tasks_batch: 'btree (lote, status) WHERE (lote IS NOT NULL)',
    tasks_age: `brin (data_hora) WITH (autosummarize='on')`,
  });
  const subscriptionIndexes = Object.values(await readIndexes(pool, 'tasks_subscriber'));
  expect(subscriptionIndexes).toContain('btree (tenant, grupo_empresarial, processo)');
});

test('routes keep publications, subscriptions and topics apart, whatever their names', async () => {
  const { rows } = await pool.query<{ expression: string }>(
    `select pg_get_indexdef('tasks_ready'::regclass, 1, true) as expression`,
  );
  const routes = await pool.query(`
    select ${rows[0]?.expression} as route from (values
      (true, false, null, 'x', 0, null), (true, true, null, 'x', 0, null), (false, false, 'x', 'x', 0, null),
      (false, true, 'x', 'x', 0, null), (false, false, null, 'x', 1, null), (false, false, null, 'p', 0, null),
      (false, false, '', 'x', 0, null), (false, false, null, null, 0, null), (true, true, 'x', null, 0, null),
      (true, false, null, 'x', 2, null), (false, false, null, 'x', 3, null), (true, true, 'x', 'y', 2, null),
      (false, false, null, 'x', 0, 'k'), (false, false, null, 'x', 2, 'k'), (true, false, null, 'x', 0, '')
    ) t (pub_sub, dead, subscriber_id, processo, perdas, chave_fila)`);
  expect(routes.rows.map(({ route }) => route)).toEqual([
    'p',
    't:x',
    's:x',
    's:x',
    't:x',
    't:p',
    's:',
    't:',
    's:x',
    '!p',
    '!t:x',
    '!s:x',
    't:x\u001fk',
    '!t:x',
    'p\u001f',
  ]);
});

test('a chain cannot get a second dead chain, successor or delivery', async () => {
  await pool.query(`insert into tasks (dead, live_id) values (true, 1)`);
  await pool.query(`insert into tasks (publication_id, subscriber_id) values (1, 'a')`);
  await pool.query(`insert into tasks (id_inicial, id_anterior) values (1, 1)`);
  for (const again of [
    `insert into tasks (dead, live_id) values (true, 1)`,
    `insert into tasks (publication_id, subscriber_id) values (1, 'a')`,
    `insert into tasks (id_inicial, id_anterior) values (1, 1)`,
  ]) {
    await expect(pool.query(again)).rejects.toMatchObject({ code: '23505' });
  }
  // A replay is another round.
  await pool.query(`insert into tasks (dead, live_id, rodada) values (true, 1, 1)`);
  await pool.query(
    `insert into tasks (publication_id, subscriber_id, id_anterior, rodada) values (1, 'a', 2, 1)`,
  );
  await pool.query('delete from tasks');
});

test('a worker writes down who and where it is, and when it stopped', async () => {
  const { worker, close } = await startApp(database, { concurrency: 3 });
  const read = async (): Promise<Record<string, unknown>> => {
    const { rows } = await pool.query<Record<string, unknown>>(
      `select host, pid, concurrency, routes, started_at <= clock_timestamp() as started, stopped_at is not null as stopped
       from tasks_worker where id = $1`,
      [worker.id],
    );
    return rows[0] ?? {};
  };
  const row = { host: hostname(), pid: process.pid, concurrency: 3, routes: ['p'], started: true };
  expect(await read()).toEqual({ ...row, stopped: false });
  await close();
  expect(await read()).toEqual({ ...row, stopped: true });
});

test('starting again makes nothing, and keeps the identity of the queue', async () => {
  const identity = () => pool.query('select table_name, version, identity from tarefa_migration');
  const before = { schema: await readSchema(pool, 'public'), identity: (await identity()).rows };
  expect(before.identity).toMatchObject([{ table_name: 'tasks', version: schemaVersion }]);
  await (await startApp(database)).close();
  expect({ schema: await readSchema(pool, 'public'), identity: (await identity()).rows }).toEqual(before);
});

test('eight applications that start at once in an empty database make it once', async () => {
  const empty = await createDatabase();
  const apps = await Promise.all(Array.from({ length: 8 }, () => startApp(empty)));
  await Promise.all(apps.map((app) => app.close()));
  expect(await readSchema(empty.pool, 'public')).toEqual(await readSchema(pool, 'public'));
  expect((await empty.pool.query('select from tarefa_migration')).rowCount).toBe(1);
  await empty.drop();
});

test('applications with different queues that start at once in an empty database do not disturb each other', async () => {
  const empty = await createDatabase();
  const apps = await Promise.all(
    Array.from({ length: 8 }, (_, index) => startApp(empty, { queue: `queue_${index}` })),
  );
  await Promise.all(apps.map((app) => app.close()));
  expect((await empty.pool.query('select from tarefa_migration')).rowCount).toBe(8);
  await empty.drop();
});
